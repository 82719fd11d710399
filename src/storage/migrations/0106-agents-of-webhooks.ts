import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The agent that set the address of a webhook. */
export const agentsOfWebhooks = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return { up: (db) => runStatements(db, context.dialect, [`alter table ${p}webhooks add column agent_id text`]) };
};
