import { SYSTEM } from '../../../../access/actor.ts';
import type { Platform } from '../../../../platform.ts';
import { findConnectionRow, sealCredentials, usableCredentials } from '../store.ts';
import type { PersonAndServer } from './access-token.ts';
import { joinScopes } from './scopes.ts';

/**
 * Keeps the scopes that a request lacked, so that the person's next sign-in at the server requests them (MCP, step-up
 * authorization). Does nothing if the connection changes meanwhile: the next refused request keeps them.
 */
export async function keepMissingScopes(
  platform: Pick<Platform, 'database' | 'ledger' | 'secrets'>,
  { userId, server, version }: PersonAndServer,
  missing: readonly string[],
): Promise<void> {
  const row = await findConnectionRow(platform.database.read, userId, server.name);
  const credentials = usableCredentials(platform, server, row);
  if (!row || row.version !== version || credentials?.type !== 'oauth') return;
  const before = credentials.moreScopes ?? [];
  const moreScopes = joinScopes(before, missing);
  if (moreScopes.length === before.length) return;
  const owned = { user_id: userId, server: server.name };
  await platform.ledger.change(SYSTEM, ({ db }) =>
    db
      .updateTable('gateway_connections')
      .set(sealCredentials(platform, owned, { ...credentials, moreScopes }))
      .where((eb) => eb.and({ ...owned, version, sealed: row.sealed }))
      .execute(),
  );
}
