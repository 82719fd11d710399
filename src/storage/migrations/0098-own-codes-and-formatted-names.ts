import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The browsers for which mailed codes are counted separately, and the formatted name that a directory sent. */
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
