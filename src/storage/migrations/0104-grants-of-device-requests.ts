import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The grant that an allowed request of a device leads to. Its id is made with the consent, which names it as actor. */
export const grantsOfDeviceRequests = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  return {
    up: (db) => runStatements(db, context.dialect, [`alter table ${p}oauth_device_requests add column grant_id text`]),
  };
};
