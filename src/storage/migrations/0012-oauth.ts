import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function oauth({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('oauth_clients')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('secret_hash', 'text')
        .addColumn('auth_method', 'text', (c) => c.notNull())
        .addColumn('name', 'text')
        .addColumn('redirect_uris', 'text', (c) => c.notNull())
        .addColumn('grant_types', 'text', (c) => c.notNull())
        .addColumn('scope', 'text')
        .addColumn('metadata', 'text', (c) => c.notNull())
        .addColumn('origin', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('last_used_at', int)
        .execute();
      await s
        .createIndex(`${prefix}oauth_clients_unused`)
        .on('oauth_clients')
        .columns(['last_used_at', 'created_at'])
        .execute();
      await s
        .createTable('oauth_consents')
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('client_id', 'text', (c) => c.notNull())
        .addColumn('redirect_uri', 'text', (c) => c.notNull())
        .addColumn('resource', 'text', (c) => c.notNull())
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}oauth_consents_key`, ['user_id', 'client_id', 'redirect_uri', 'resource'])
        .execute();
      await s.createIndex(`${prefix}oauth_consents_client`).on('oauth_consents').column('client_id').execute();
      await s.createIndex(`${prefix}oauth_consents_agent`).on('oauth_consents').column('agent_id').execute();
      await s
        .createTable('oauth_grants')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('client_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('actor_id', 'text')
        .addColumn('delegation_id', 'text')
        .addColumn('parent_id', 'text')
        .addColumn('parent_jti', 'text')
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('resource', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('last_used_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .addColumn('revoked_at', int)
        .addColumn('reason', 'text')
        .execute();
      for (const column of ['client_id', 'user_id', 'agent_id', 'actor_id', 'delegation_id', 'parent_id', 'expires_at'])
        await s.createIndex(`${prefix}oauth_grants_${column}`).on('oauth_grants').column(column).execute();
      await s
        .createTable('oauth_codes')
        .addColumn('code_hash', 'text', (c) => c.primaryKey())
        .addColumn('client_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('redirect_uri', 'text')
        .addColumn('challenge', 'text', (c) => c.notNull())
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('resource', 'text', (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .addColumn('used_at', int)
        .addColumn('grant_id', 'text')
        .execute();
      await s.createIndex(`${prefix}oauth_codes_expires`).on('oauth_codes').column('expires_at').execute();
      await s
        .createTable('oauth_refresh_tokens')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('grant_id', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .addColumn('used_at', int)
        .addColumn('previous_hash', 'text')
        .execute();
      await s.createIndex(`${prefix}oauth_refresh_grant`).on('oauth_refresh_tokens').column('grant_id').execute();
      await s
        .createTable('oauth_revoked_tokens')
        .addColumn('jti', 'text', (c) => c.primaryKey())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
    },
  };
}
