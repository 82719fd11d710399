import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/** What is due of each endpoint, in its order, without looking at what is due of the others. */
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
