import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Which instance does work that one instance at a time does. */
export const leases = (context: MigrationContext): Migration => {
  const { p, int } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `create table ${p}leases (
          name text primary key,
          holder text not null,
          until ${int} not null
        )`,
      ]),
  };
};
