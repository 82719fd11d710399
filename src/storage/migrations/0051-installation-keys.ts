import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The shared keys of an installation, sealed under its root secret; or fingerprints of the keys in secrets.json. */
export function installationKeys(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}installation_keys (
          id text primary key,
          kind text not null,
          created_at text not null,
          sealed text not null
        )`,
      ]),
  };
}
