import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Client ID metadata documents, as fetched. Instances share them, and a restart keeps them. */
export function clientDocuments(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}oauth_client_documents (
    client_id text primary key,
    document text not null,
    valid_until ${int} not null
  )`,
        `create index ${p}oauth_client_documents_until on ${p}oauth_client_documents (valid_until)`,
      ]),
  };
}
