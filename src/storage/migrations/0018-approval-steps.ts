import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Finds expired approvals among all approvals, and counts audit entries of approvals separately from calls. */
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
