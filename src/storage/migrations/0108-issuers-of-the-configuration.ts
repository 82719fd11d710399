import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The issuers of the configuration at the newest start. */
export const issuersOfTheConfiguration = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `create table ${p}configured_issuers (
          issuer text primary key,
          id text not null,
          name text not null,
          uses text not null
        )`,
      ]),
  };
};
