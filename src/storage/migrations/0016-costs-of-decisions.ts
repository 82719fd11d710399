import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Finds the costs of a decision. */
export function costsOfDecisions({ prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.createIndex(`${prefix}costs_audit`).on('costs').column('audit_id').execute();
    },
  };
}
