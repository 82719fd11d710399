import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function costs({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const float = dialect === 'sqlite' ? 'real' : 'double precision';
      const s = db.schema;
      await s
        .createTable('costs')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('amount', float, (c) => c.notNull())
        .addColumn('currency', 'text', (c) => c.notNull())
        .addColumn('tokens', int)
        .addColumn('audit_id', 'text')
        .addColumn('metadata', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}costs_user`).on('costs').columns(['user_id', 'id']).execute();
      await s.createIndex(`${prefix}costs_agent`).on('costs').columns(['agent_id', 'id']).execute();
      await s
        .createTable('budgets')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('metric', 'text', (c) => c.notNull())
        .addColumn('currency', 'text')
        .addColumn('limit_value', float, (c) => c.notNull())
        .addColumn('window_kind', 'text', (c) => c.notNull())
        .addColumn('on_exceed', 'text', (c) => c.notNull())
        .addColumn('used', float, (c) => c.notNull())
        .addColumn('window_start', int, (c) => c.notNull())
        .addColumn('exceeded', 'integer', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('updated_at', int, (c) => c.notNull())
        .addColumn('policy_epoch', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}budgets_user`).on('budgets').columns(['user_id', 'id']).execute();
      await s.createIndex(`${prefix}budgets_agent`).on('budgets').columns(['agent_id', 'id']).execute();
      await s.createIndex(`${prefix}budgets_epoch`).on('budgets').column('policy_epoch').execute();
    },
  };
}
