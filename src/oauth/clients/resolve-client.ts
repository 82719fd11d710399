import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type Client, findClientRow, readClientRow, toClient } from './client.ts';
import { documentClient, isDocumentId } from './metadata-document.ts';

/**
 * Returns the client with this id: a registered one, or the one that the metadata document at this URL describes.
 * Returns undefined if there is none. Throws OAUTH_INVALID_CLIENT or OAUTH_TEMPORARILY_UNAVAILABLE for an unusable
 * document.
 */
export async function resolveClient(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  id: Id<'client'>,
): Promise<Client | undefined> {
  if (isDocumentId(id)) return platform.config.mcp.clientMetadataDocuments ? documentClient(platform, id) : undefined;
  const row = await readClientRow(platform.database, id);
  return row && row.origin !== 'document' ? toClient(row) : undefined;
}

/**
 * Returns whether a client that was resolved before a change has not been deleted since. A client with a metadata
 * document has no row that could be missing.
 */
export const isStillThere = async (db: Db, id: Id<'client'>): Promise<boolean> =>
  isDocumentId(id) || (await findClientRow(db, id)) !== undefined;
