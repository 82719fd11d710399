import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/**
 * Counts wrong guesses per account in a table of their own, ties email codes to the request that asked for them, and
 * records when the person of a session last authenticated.
 */
export function attempts({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('attempts')
        .addColumn('guessed', 'text', (c) => c.notNull())
        .addColumn('account', 'text', (c) => c.notNull())
        .addColumn('device', 'text', (c) => c.notNull())
        .addColumn('known', int, (c) => c.notNull())
        .addColumn('failures', int, (c) => c.notNull())
        .addColumn('paused_until', int, (c) => c.notNull())
        .addColumn('failed_at', int, (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}attempts_pk`, ['account', 'guessed', 'device'])
        .execute();
      await s.createIndex(`${prefix}attempts_failed`).on('attempts').column('failed_at').execute();

      // A code is valid for five minutes, so pending ones are dropped and requested again.
      await s.dropTable('email_codes').execute();
      await s
        .createTable('email_codes')
        .addColumn('request_hash', 'text', (c) => c.primaryKey())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('code_hash', 'text', (c) => c.notNull())
        .addColumn('tries_left', int, (c) => c.notNull())
        .addColumn('open_tries_left', int, (c) => c.notNull())
        .addColumn('created_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
      await s.createIndex(`${prefix}email_codes_user`).on('email_codes').column('user_id').execute();
      await s.createIndex(`${prefix}email_codes_created`).on('email_codes').column('created_at').execute();

      for (const column of ['failures', 'locked_until'])
        await s.alterTable('totp_secrets').dropColumn(column).execute();

      await s
        .alterTable('sessions')
        .addColumn('auth_time', int, (c) => c.notNull().defaultTo(0))
        .execute();
    },
  };
}
