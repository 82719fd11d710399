import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { type Client, findClientRow, toClient } from './client.ts';
import { documentClient, isDocumentId } from './metadata-document.ts';

/**
 * The client of an id, wherever its metadata are: registered here, or in a document at the address that is its id. The same at
 * every endpoint. undefined: there is none. Throws OAUTH_INVALID_CLIENT when its document cannot be read.
 */
export async function resolveClient(platform: Platform, id: string, db: Db = platform.database.read): Promise<Client | undefined> {
  if (isDocumentId(id)) return platform.config.mcp.clientMetadataDocuments ? documentClient(platform, id) : undefined;
  const row = await findClientRow(db, id);
  return row && row.origin !== 'document' ? toClient(row) : undefined;
}
