import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function mcp({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      await db.schema
        .createTable('mcp_servers')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('endpoint', 'text', (c) => c.notNull())
        .addColumn('tools', 'text', (c) => c.notNull())
        .addColumn('auth_required', 'integer', (c) => c.notNull())
        .addColumn('rpm', int)
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('updated_at', int, (c) => c.notNull())
        .execute();
      await db.schema.createIndex(`${prefix}mcp_servers_name`).unique().on('mcp_servers').column('name').execute();
    },
  };
}
