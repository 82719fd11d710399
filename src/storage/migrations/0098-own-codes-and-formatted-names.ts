import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Browsers that codes by mail are counted for, and the formatted name that a directory sent. */
export const ownCodesAndFormattedNames = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `alter table ${p}email_codes add column device text`,
        `alter table ${p}scim_users add column formatted_name text`,
      ]),
  };
};
