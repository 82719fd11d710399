import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function delegations({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('delegations')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('from_agent', 'text', (c) => c.notNull())
        .addColumn('to_agent', 'text', (c) => c.notNull())
        .addColumn('from_owner', 'text', (c) => c.notNull())
        .addColumn('to_owner', 'text', (c) => c.notNull())
        .addColumn('permissions', 'text', (c) => c.notNull())
        .addColumn('depth', int, (c) => c.notNull())
        .addColumn('max_depth', int, (c) => c.notNull())
        .addColumn('expires_at', int)
        .addColumn('ends_at', int)
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('revoked_at', int)
        .addColumn('self_supplied', int, (c) => c.notNull())
        .addColumn('policy_epoch', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}delegations_to`).on('delegations').columns(['to_agent', 'id']).execute();
      await s.createIndex(`${prefix}delegations_from`).on('delegations').columns(['from_agent', 'id']).execute();
      await s.createIndex(`${prefix}delegations_from_owner`).on('delegations').columns(['from_owner', 'id']).execute();
      await s.createIndex(`${prefix}delegations_to_owner`).on('delegations').columns(['to_owner', 'id']).execute();
      await s.createIndex(`${prefix}delegations_epoch`).on('delegations').column('policy_epoch').execute();
      await s
        .createTable('delegation_parents')
        .addColumn('delegation_id', 'text', (c) => c.notNull())
        .addColumn('parent_id', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}delegation_parents_pk`, ['delegation_id', 'parent_id'])
        .execute();
      await s.createIndex(`${prefix}delegation_parents_parent`).on('delegation_parents').column('parent_id').execute();
    },
  };
}
