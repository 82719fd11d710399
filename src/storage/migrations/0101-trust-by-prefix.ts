import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Finds the patterns that may match a workload without reading every workload that agents trust at its issuer. */
export const trustByPrefix = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `create index ${p}agent_trust_prefix on ${p}agent_trust (issuer, subject_prefix)`,
      ]),
  };
};
