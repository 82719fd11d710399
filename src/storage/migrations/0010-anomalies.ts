import { type Kysely, sql } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

export function anomalies({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      const s = db.schema;
      await s
        .createTable('anomalies')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('agent_id', 'text', (c) => c.notNull())
        .addColumn('user_id', 'text', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('severity', 'text', (c) => c.notNull())
        .addColumn('observed', 'text', (c) => c.notNull())
        .addColumn('expected', 'text', (c) => c.notNull())
        .addColumn('evidence', 'text', (c) => c.notNull())
        .addColumn('detected_at', int, (c) => c.notNull())
        .addColumn('acknowledged_at', int)
        .addColumn('acknowledged_by', 'text')
        .addColumn('note', 'text')
        .execute();
      await s.createIndex(`${prefix}anomalies_user`).on('anomalies').columns(['user_id', 'id']).execute();
      await s.createIndex(`${prefix}anomalies_agent`).on('anomalies').columns(['agent_id', 'id']).execute();
      await s
        .createTable('anomaly_states')
        .addColumn('agent_id', 'text', (c) => c.primaryKey())
        .addColumn('state', 'text', (c) => c.notNull())
        .execute();
      // Decisions made before the detector existed are not examined.
      await sql`insert into ${sql.table('projections')} (name, upto) select 'anomalies', seq from ${sql.table('head')} where id = 1`.execute(
        db,
      );
    },
  };
}
