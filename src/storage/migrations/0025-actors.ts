import type { Kysely } from 'kysely';

/** Events say who changed something, and what (contract 17.1). What was recorded before says neither. */
export function actors() {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('stream_events').addColumn('change', 'text').execute();
    },
  };
}
