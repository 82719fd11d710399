import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** Finds the due deliveries of each endpoint in order, without scanning those of other endpoints. */
export function webhookTurns({ prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createIndex(`${prefix}webhook_deliveries_turn`)
        .on('webhook_deliveries')
        .columns(['webhook_id', 'status', 'next_at', 'id'])
        .execute();
    },
  };
}
