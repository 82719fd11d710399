import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Finds what has lapsed among all approvals that ever were. */
export function waitingApprovals({ prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.createIndex(`${prefix}approvals_waiting`).on('approvals').columns(['status', 'expires_at']).execute();
    },
  };
}
