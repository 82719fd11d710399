import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** When an API token was last used. */
export const useOfApiTokens = (context: MigrationContext): Migration => {
  const { p, int } = sqlNames(context);
  return {
    up: (db) => runStatements(db, context.dialect, [`alter table ${p}api_tokens add column last_used_at ${int}`]),
  };
};
