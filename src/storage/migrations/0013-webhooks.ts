import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function webhooks({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('webhooks')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('url', 'text', (c) => c.notNull())
        .addColumn('types', 'text')
        .addColumn('secret', 'text', (c) => c.notNull())
        .addColumn('previous_secret', 'text')
        .addColumn('previous_until', int)
        .addColumn('enabled', 'integer', (c) => c.notNull())
        .addColumn('disabled_reason', 'text')
        .addColumn('failures', 'integer', (c) => c.notNull())
        .addColumn('paused_until', int, (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('updated_at', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}webhooks_user`).on('webhooks').columns(['user_id', 'id']).execute();
      await s
        .createTable('webhook_deliveries')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('webhook_id', 'text', (c) => c.notNull())
        .addColumn('event_id', 'text', (c) => c.notNull())
        .addColumn('type', 'text', (c) => c.notNull())
        .addColumn('body', 'text', (c) => c.notNull())
        .addColumn('status', 'text', (c) => c.notNull())
        .addColumn('attempts', 'integer', (c) => c.notNull())
        .addColumn('next_at', int, (c) => c.notNull())
        .addColumn('lease_until', int, (c) => c.notNull())
        .addColumn('last_status', 'integer')
        .addColumn('last_error', 'text')
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('delivered_at', int)
        .execute();
      await s
        .createIndex(`${prefix}webhook_deliveries_once`)
        .unique()
        .on('webhook_deliveries')
        .columns(['webhook_id', 'event_id'])
        .execute();
      await s
        .createIndex(`${prefix}webhook_deliveries_due`)
        .on('webhook_deliveries')
        .columns(['status', 'next_at'])
        .execute();
      await s
        .createIndex(`${prefix}webhook_deliveries_webhook`)
        .on('webhook_deliveries')
        .columns(['webhook_id', 'id'])
        .execute();
    },
  };
}
