import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function events({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('stream_tickets')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('sealed', 'text', (c) => c.notNull())
        .addColumn('expires_at', dialect === 'sqlite' ? 'integer' : 'bigint', (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex(`${prefix}stream_tickets_expires`)
        .on('stream_tickets')
        .column('expires_at')
        .execute();
    },
  };
}
