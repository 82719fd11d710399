import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The sequence numbers at which the time of the ledger was set back, among the positions. */
export const clockResets = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `insert into ${p}projections (name, upto)
          select 'clock-reset/' || seq, seq from ${p}changes where type = 'ledger.clock_reset'
          union select 'clock-reset/' || seq, seq from ${p}stream_events where type = 'ledger.clock_reset'
            and seq > coalesce((select upto from ${p}projections where name = 'changes'), 0)`,
      ]),
  };
};
