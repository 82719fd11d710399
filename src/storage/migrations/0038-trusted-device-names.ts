import type { Kysely } from 'kysely';

/** Trusted devices are listed with the browser that they are. Rows made before have no name. */
export function trustedDeviceNames() {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('trusted_devices').addColumn('user_agent', 'text').execute();
    },
  };
}
