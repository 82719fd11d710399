import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function signIn({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;

      await s
        .createTable('one_time_tokens')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('purpose', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('data', 'text', (c) => c.notNull())
        .addColumn('failures', int, (c) => c.notNull().defaultTo(0))
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
      await s
        .createIndex(`${prefix}one_time_tokens_user`)
        .on('one_time_tokens')
        .columns(['user_id', 'purpose'])
        .execute();
      await s.createIndex(`${prefix}one_time_tokens_expiry`).on('one_time_tokens').column('expires_at').execute();

      await s
        .createTable('email_codes')
        .addColumn('user_id', 'text', (c) => c.primaryKey())
        .addColumn('code_hash', 'text', (c) => c.notNull())
        .addColumn('tries_left', int, (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('totp_secrets')
        .addColumn('user_id', 'text', (c) => c.primaryKey())
        .addColumn('secret', 'text', (c) => c.notNull())
        .addColumn('enabled_at', int)
        .addColumn('last_step', int, (c) => c.notNull())
        .addColumn('failures', int, (c) => c.notNull())
        .addColumn('locked_until', int, (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .execute();

      await s
        .createTable('backup_codes')
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('code_hash', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}backup_codes_pk`, ['user_id', 'code_hash'])
        .execute();

      await s
        .createTable('trusted_devices')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}trusted_devices_user`).on('trusted_devices').column('user_id').execute();

      await s
        .createTable('invites')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('token_hash', 'text', (c) => c.notNull().unique())
        .addColumn('email', 'text', (c) => c.notNull())
        .addColumn('email_key', 'text', (c) => c.notNull().unique())
        .addColumn('role', 'text', (c) => c.notNull())
        .addColumn('tenant_id', 'text')
        .addColumn('invited_by', 'text', (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
    },
  };
}
