import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Finds the owners of a tenant's revoked agents, among them deleted users, without reading all agents. */
export const agentsOfTenants = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `create index ${p}agents_tenant on ${p}agents (tenant_id, owner_id)
          where tenant_id is not null and revoked_at is not null`,
      ]),
  };
};
