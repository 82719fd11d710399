import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** A sign-in reads the last use and the expired sessions. Neither query may slow down for a user with many sessions. */
export function sessionOrder({ prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createIndex(`${prefix}sessions_use`)
        .on('sessions')
        .columns(['user_id', 'last_used_at'])
        .execute();
      await db.schema
        .createIndex(`${prefix}sessions_expiry`)
        .on('sessions')
        .columns(['user_id', 'expires_at'])
        .execute();
      await db.schema.dropIndex(`${prefix}sessions_user`).execute();
    },
  };
}
