import { type Kysely, sql } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Columns that limits on delegations count, with partial indexes on active rows. */
export function delegationLimits({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const s = db.schema;
      await s
        .alterTable('delegations')
        .addColumn('permission_count', dialect === 'sqlite' ? 'integer' : 'bigint', (c) => c.notNull().defaultTo(1))
        .execute();
      const length =
        dialect === 'sqlite' ? sql`json_array_length(permissions)` : sql`json_array_length(permissions::json)`;
      await sql`update ${sql.table('delegations')} set permission_count = ${length}`.execute(db);
      await s
        .createIndex(`${prefix}delegations_to_active`)
        .on('delegations')
        .columns(['to_agent', 'ends_at', 'from_agent', 'from_owner', 'permission_count'])
        .where(sql.ref('revoked_at'), 'is', null)
        .execute();
      await s
        .createIndex(`${prefix}delegations_from_active`)
        .on('delegations')
        .columns(['from_agent', 'ends_at'])
        .where(sql.ref('revoked_at'), 'is', null)
        .execute();
    },
  };
}
