import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Approvals that have lapsed are found among all that ever were, and steps of approvals are counted beside calls. */
export function approvalSteps({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createIndex(`${prefix}approvals_waiting`)
        .on('approvals')
        .columns(['status', 'expires_at'])
        .execute();
      await db.schema
        .alterTable('agent_hours')
        .addColumn('steps', dialect === 'sqlite' ? 'integer' : 'bigint', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  };
}
