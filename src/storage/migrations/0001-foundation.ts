import { type Kysely, sql } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function foundation({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const blob = dialect === 'sqlite' ? 'blob' : 'bytea';
      const real = dialect === 'sqlite' ? 'real' : 'double precision';
      const s = db.schema;

      await s
        .createTable('head')
        .addColumn('id', int, (c) => c.primaryKey())
        .addColumn('seq', int, (c) => c.notNull())
        .addColumn('epoch', int, (c) => c.notNull())
        .addColumn('clock', int, (c) => c.notNull())
        .addColumn('writer', 'text', (c) => c.notNull())
        .execute();
      await sql`insert into ${sql.table(`${prefix}head`)} (id, seq, epoch, clock, writer) values (1, 0, 1, 0, '')`.execute(
        db,
      );

      await s
        .createTable('stream_events')
        .addColumn('seq', int, (c) => c.primaryKey())
        .addColumn('id', 'text', (c) => c.notNull())
        .addColumn('type', 'text', (c) => c.notNull())
        .addColumn('timestamp', int, (c) => c.notNull())
        .addColumn('agent_id', 'text')
        .addColumn('user_id', 'text')
        .addColumn('action', 'text')
        .addColumn('resource', 'text')
        .addColumn('result', 'text')
        .addColumn('reason', 'text')
        .addColumn('duration_ms', sql.raw(real))
        .addColumn('tokens_cost', sql.raw(real))
        .addColumn('parameters', 'text')
        .addColumn('ip', 'text')
        .addColumn('user_agent', 'text')
        .addColumn('delegation_ids', 'text')
        .addColumn('data', 'text')
        .execute();
      if (dialect === 'postgres') {
        // PostgreSQL logs only the changed part of an index page, so indexes cost little on writes.
        await s.createIndex(`${prefix}stream_events_agent`).on('stream_events').columns(['agent_id', 'seq']).execute();
        await s.createIndex(`${prefix}stream_events_user`).on('stream_events').columns(['user_id', 'seq']).execute();
        await s
          .createIndex(`${prefix}stream_events_refused`)
          .on('stream_events')
          .columns(['result', 'seq'])
          .where(sql.ref('result'), '<>', sql.lit('allowed'))
          .execute();
      }

      await s
        .createTable('event_postings')
        .addColumn('bucket', int, (c) => c.notNull())
        .addColumn('segment', int, (c) => c.notNull())
        .addColumn('entries', sql.raw(blob), (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}event_postings_pk`, ['bucket', 'segment'])
        .execute();

      await s
        .createTable('counters')
        .addColumn('key', 'text', (c) => c.primaryKey())
        .addColumn('hour', int, (c) => c.notNull())
        .addColumn('used', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('agent_hours')
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('hour', int, (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('calls', int, (c) => c.notNull())
        .addColumn('denied', int, (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}agent_hours_pk`, ['hour', 'agent_id'])
        .execute();
      await s.createIndex(`${prefix}agent_hours_user`).on('agent_hours').columns(['user_id', 'hour']).execute();

      await s
        .createTable('projections')
        .addColumn('name', 'text', (c) => c.primaryKey())
        .addColumn('upto', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('tenants')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('slug', 'text', (c) => c.notNull().unique())
        .addColumn('created_at', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('users')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('email', 'text')
        .addColumn('email_key', 'text', (c) => c.unique())
        .addColumn('name', 'text')
        .addColumn('role', 'text', (c) => c.notNull())
        .addColumn('password_hash', 'text')
        .addColumn('email_verified', int, (c) => c.notNull().defaultTo(0))
        .addColumn('two_factor_enabled', int, (c) => c.notNull().defaultTo(0))
        .addColumn('tenant_id', 'text')
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('updated_at', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('sessions')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('token_hash', 'text', (c) => c.notNull().unique())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('last_used_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .addColumn('absolute_expires_at', int, (c) => c.notNull())
        .addColumn('ip', 'text')
        .addColumn('user_agent', 'text')
        .execute();
      await s.createIndex(`${prefix}sessions_user`).on('sessions').column('user_id').execute();

      await s
        .createTable('api_tokens')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('token_hash', 'text', (c) => c.notNull().unique())
        .addColumn('scopes', 'text')
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int)
        .execute();
      await s.createIndex(`${prefix}api_tokens_user`).on('api_tokens').column('user_id').execute();

      await s
        .createTable('setup_links')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('agents')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('owner_id', 'text', (c) => c.notNull())
        .addColumn('tenant_id', 'text')
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('type', 'text', (c) => c.notNull())
        .addColumn('token_hash', 'text', (c) => c.notNull().unique())
        .addColumn('revoked_at', int)
        .addColumn('expires_at', int)
        .addColumn('permissions', 'text', (c) => c.notNull())
        .addColumn('metadata', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('updated_at', int, (c) => c.notNull())
        .addColumn('policy_epoch', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}agents_owner`).on('agents').columns(['owner_id', 'id']).execute();
      await s.createIndex(`${prefix}agents_epoch`).on('agents').column('policy_epoch').execute();
    },
  };
}
