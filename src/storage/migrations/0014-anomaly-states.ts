import { type Kysely, sql } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function anomalyStates({ dialect }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .alterTable('anomaly_states')
        .addColumn('seq', dialect === 'sqlite' ? 'integer' : 'bigint', (c) => c.notNull().defaultTo(0))
        .execute();
      // Until now, every state was written together with the detector's progress.
      const upto = sql`(select upto from ${sql.table('projections')} where name = 'anomalies')`;
      await sql`update ${sql.table('anomaly_states')} set seq = ${upto}`.execute(db);
      await sql`insert into ${sql.table('projections')} (name, upto) values ('anomaly_states', ${upto})`.execute(db);
    },
  };
}
