import type { Kysely } from 'kysely';
import type { MigrationContext } from './migration.ts';

/** Each attempt of a delivery (contract 17.12). */
export function webhookAttempts({ dialect, prefix }: MigrationContext) {
  const int = dialect === 'sqlite' ? 'integer' : 'bigint';
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const s = db.schema;
      await s
        .createTable('webhook_attempts')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('delivery_id', 'text', (c) => c.notNull())
        .addColumn('at', int, (c) => c.notNull())
        .addColumn('status', int)
        .addColumn('error', 'text')
        .addColumn('duration_ms', int, (c) => c.notNull())
        .addColumn('answer', 'text')
        .execute();
      await s
        .createIndex(`${prefix}webhook_attempts_delivery`)
        .on('webhook_attempts')
        .columns(['delivery_id', 'id'])
        .execute();
      await s.createIndex(`${prefix}webhook_attempts_time`).on('webhook_attempts').column('at').execute();
    },
  };
}
