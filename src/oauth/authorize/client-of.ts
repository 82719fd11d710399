import type { Platform } from '../../platform.ts';
import { readClientRow, toClient } from '../clients/client.ts';

const AUTHORIZE = /\/(oauth|mcp)\/authorize(\/consent)?$/;

/** The client of an authorization request, by the name it gives itself. Reads what is stored and fetches nothing. */
export async function clientOf(platform: Platform, { pathname, searchParams }: URL): Promise<string | undefined> {
  const id = AUTHORIZE.test(pathname) ? searchParams.get('client_id') : null;
  if (id === null || id.length > 2048 || !id.isWellFormed() || id.includes('\u0000')) return undefined;
  const row = await readClientRow(platform.database, id);
  if (!row) return undefined;
  const client = toClient(row);
  return client.name ?? client.documentHost ?? undefined;
}
