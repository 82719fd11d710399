import { asId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { readClientRow, toClient } from '../clients/client.ts';

const AUTHORIZE = /\/(oauth|mcp)\/authorize(\/consent)?$/;

/** Returns the name of the client of an authorization request. Uses stored metadata only; fetches nothing. */
export async function findClientName(
  { database }: Pick<Platform, 'database'>,
  { pathname, searchParams }: URL,
): Promise<string | undefined> {
  const id = AUTHORIZE.test(pathname) ? searchParams.get('client_id') : null;
  if (id === null || id.length > 2048 || !id.isWellFormed() || id.includes('\u0000')) return undefined;
  const row = await readClientRow(database, asId('client', id));
  if (!row) return undefined;
  const client = toClient(row);
  return client.name ?? client.documentHost ?? undefined;
}
