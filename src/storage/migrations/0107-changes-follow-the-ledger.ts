import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The position of the follower that copies changes. Until now each change stored its own copy. */
export const changesFollowTheLedger = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `insert into ${p}projections (name, upto) select 'changes', seq from ${p}head where id = 1`,
      ]),
  };
};
