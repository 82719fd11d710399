import type { Platform } from '../../platform.ts';
import { type Client, readClientRow, toClient } from './client.ts';
import { documentClient, isDocumentId } from './metadata-document.ts';

/**
 * The client of an id, wherever its metadata are: registered here, or in a document at the address that is its id. The same at
 * every endpoint. undefined: there is none. Throws OAUTH_INVALID_CLIENT when its document cannot be read.
 */
export async function resolveClient(platform: Platform, id: string): Promise<Client | undefined> {
  if (isDocumentId(id)) return platform.config.mcp.clientMetadataDocuments ? documentClient(platform, id) : undefined;
  const row = await readClientRow(platform.database, id);
  return row && row.origin !== 'document' ? toClient(row) : undefined;
}
