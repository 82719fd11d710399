import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The language in which a person signed in last, for mails that no request of theirs causes. */
export const languagesOfUsers = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) => runStatements(db, context.dialect, [`alter table ${p}users add column language text`]),
  };
};
