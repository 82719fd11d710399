import type { Kysely } from 'kysely';
import type { MigrationContext } from './migration.ts';

/** Decisions over time, by result and duration (contract 17.12). */
export function decisionSlots({ dialect, prefix }: MigrationContext) {
  const int = dialect === 'sqlite' ? 'integer' : 'bigint';
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('decision_slots')
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('slot', int, (c) => c.notNull())
        .addColumn('allowed', int, (c) => c.notNull())
        .addColumn('denied', int, (c) => c.notNull())
        .addColumn('rate_limited', int, (c) => c.notNull())
        .addColumn('durations', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}decision_slots_pk`, ['user_id', 'slot'])
        .execute();
      await db.schema.createIndex(`${prefix}decision_slots_time`).on('decision_slots').column('slot').execute();
    },
  };
}
