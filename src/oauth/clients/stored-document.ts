import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';

/** A metadata document as its host sent it. */
export interface StoredDocument {
  readonly text: string;
  /** Time until which it is not fetched again. */
  readonly until: number;
}

/** Maximum number of stored documents, so that strangers cannot fill the disk. */
const MAX_STORED = 5000;
const MAX_DELETED = 100;

export async function findStoredDocument(db: Db, clientId: Id<'client'>): Promise<StoredDocument | undefined> {
  const row = await db
    .selectFrom('oauth_client_documents')
    .select(['document', 'valid_until'])
    .where('client_id', '=', clientId)
    .executeTakeFirst();
  return row && { text: row.document, until: row.valid_until };
}

/**
 * Stores a fetched document in place of the previous one. Beyond the maximum, deletes the documents that expire first.
 */
export async function storeDocument(
  { ledger }: Pick<Platform, 'ledger'>,
  clientId: Id<'client'>,
  { text: document, until }: StoredDocument,
): Promise<void> {
  await ledger.maintain(async (db) => {
    await db
      .insertInto('oauth_client_documents')
      .values({ client_id: clientId, document, valid_until: until })
      .onConflict((oc) => oc.column('client_id').doUpdateSet({ document, valid_until: until }))
      .execute();
    const surplus = await db
      .selectFrom('oauth_client_documents')
      .select('client_id')
      .orderBy('valid_until', 'desc')
      .orderBy('client_id')
      .limit(MAX_DELETED)
      .offset(MAX_STORED)
      .execute();
    if (surplus.length === 0) return;
    const ids = surplus.map((row) => row.client_id);
    await db.deleteFrom('oauth_client_documents').where('client_id', 'in', ids).execute();
  });
}

/** Deletes a document, unless another instance has replaced it since. */
export async function deleteDocument(
  { ledger }: Pick<Platform, 'ledger'>,
  clientId: Id<'client'>,
  until: number,
): Promise<void> {
  await ledger.maintain(async (db) => {
    await db
      .deleteFrom('oauth_client_documents')
      .where('client_id', '=', clientId)
      .where('valid_until', '=', until)
      .execute();
  });
}

/** Returns the name that a stored document gives its client, or null. */
export function nameInDocument(document: string): string | null {
  const { client_name: name } = JSON.parse(document) as { client_name?: unknown };
  return typeof name === 'string' ? name : null;
}

/** Deletes documents that expired before a time. */
export async function deleteDocumentsBefore(db: Db, time: number): Promise<void> {
  await db.deleteFrom('oauth_client_documents').where('valid_until', '<', time).execute();
}
