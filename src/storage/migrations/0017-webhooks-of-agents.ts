import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function webhooksOfAgents(_: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .alterTable('webhooks')
        .addColumn('by_agent', 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  };
}
