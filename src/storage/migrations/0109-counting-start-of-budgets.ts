import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Since when a budget counts decisions. It is null in rows that the previous version wrote: since `created_at`. */
export const countingStartOfBudgets = (context: MigrationContext): Migration => {
  const { p, int } = sqlNames(context);
  return {
    up: (db) => runStatements(db, context.dialect, [`alter table ${p}budgets add column counted_from ${int}`]),
  };
};
