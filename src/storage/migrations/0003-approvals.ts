import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function approvals({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('approvals')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('digest', 'text', (c) => c.notNull())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('action', 'text', (c) => c.notNull())
        .addColumn('resource', 'text', (c) => c.notNull())
        .addColumn('arguments', 'text', (c) => c.notNull())
        .addColumn('status', 'text', (c) => c.notNull())
        .addColumn('audit_id', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .addColumn('resolved_at', int)
        .addColumn('resolved_by', 'text')
        .addColumn('note', 'text')
        .execute();
      await s.createIndex(`${prefix}approvals_digest`).on('approvals').columns(['digest', 'expires_at']).execute();
      await s.createIndex(`${prefix}approvals_user`).on('approvals').columns(['user_id', 'id']).execute();
      await s.createIndex(`${prefix}approvals_agent`).on('approvals').columns(['agent_id', 'id']).execute();
    },
  };
}
