import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The sequence numbers at which the time of the ledger was set back, among the positions. */
export const clockResets = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `insert into ${p}projections (name, upto)
          select 'clock-reset/' || seq, seq from ${p}changes where type = 'ledger.clock_reset'`,
      ]),
  };
};
