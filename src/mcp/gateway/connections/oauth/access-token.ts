import { SYSTEM } from '../../../../access/actor.ts';
import { SECOND_MS } from '../../../../kernel/clock.ts';
import type { Encrypted } from '../../../../kernel/encryption.ts';
import type { Id } from '../../../../kernel/ids.ts';
import type { Platform } from '../../../../platform.ts';
import type { Bearer } from '../../http-request.ts';
import { type NotConnected, ServerUnavailable } from '../../peer.ts';
import type { GatewayServer } from '../../servers-file.ts';
import { findConnectionRow, sealCredentials, usableCredentials } from '../store.ts';
import { forgetClient, isRegistered } from './client.ts';
import { revokeLater, revokeWaiting } from './revocations.ts';
import { ClientUnknown, GrantEnded, type OAuthCredentials, refreshTokens } from './tokens.ts';

const LEEWAY_MS = 30 * SECOND_MS;
/** Longer than the timeout of a request to the token endpoint. */
const LEASE_MS = 15 * SECOND_MS;
const ASK_AGAIN_MS = 100;

export interface PersonAndServer {
  readonly userId: Id<'user'>;
  readonly server: GatewayServer;
  /** Version of the connection. A new connection of the person has another version. */
  readonly version: number;
  /** Error for a request if the person has to sign in at the server again. */
  readonly notConnected: () => NotConnected;
}

/**
 * Supplies the person's access token, which is read again only when it is about to expire or was refused. Requests that
 * need another one at the same time wait together, because each that waits reads the database.
 */
export function bearerOf(platform: Platform, connection: PersonAndServer, credentials: OAuthCredentials): Bearer {
  let current = credentials;
  const asked = new Map<string | undefined, Promise<OAuthCredentials>>();
  const isFresh = (): boolean => (current.expiresAt ?? Number.POSITIVE_INFINITY) > platform.clock.now() + LEEWAY_MS;
  return async (refused) => {
    if (refused === undefined && isFresh()) return current.accessToken;
    const asking =
      asked.get(refused) ?? accessTokenFor(platform, connection, refused).finally(() => asked.delete(refused));
    asked.set(refused, asking);
    current = await asking;
    return current.accessToken;
  };
}

/**
 * Returns an access token for a person's requests to a server. Renews the token if it is about to expire or equals
 * `refused`, the token that the server has refused. One request on one instance renews it; the others wait. Throws
 * {@link NotConnected}, {@link ServerUnavailable}.
 */
export async function accessTokenFor(
  platform: Platform,
  connection: PersonAndServer,
  refused?: string,
): Promise<OAuthCredentials> {
  for (let waited = 0; waited <= LEASE_MS; waited += ASK_AGAIN_MS) {
    const row = await findConnectionRow(platform.database.read, connection.userId, connection.server.name);
    const credentials = usableCredentials(platform, connection.server, row);
    if (!row || row.version !== connection.version || credentials?.type !== 'oauth') throw connection.notConnected();
    const now = platform.clock.now();
    const isCurrent = (credentials.expiresAt ?? Number.POSITIVE_INFINITY) > now + LEEWAY_MS;
    if (isCurrent && credentials.accessToken !== refused) return credentials;
    // Each attempt to take the lease is a write, which would delay all decisions while many calls wait.
    const isFree = (row.refreshing_until ?? 0) <= now;
    if (isFree && (await takeLease(platform, connection, row.sealed))) return renew(platform, connection, credentials);
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
  throw new ServerUnavailable('its token is being renewed');
}

const takeLease = (
  { ledger }: Pick<Platform, 'ledger'>,
  { userId, server, version }: PersonAndServer,
  sealed: Encrypted,
): Promise<boolean> =>
  ledger.change(SYSTEM, async ({ db, now }) => {
    const { numUpdatedRows } = await db
      .updateTable('gateway_connections')
      .set({ refreshing_until: now + LEASE_MS })
      .where('user_id', '=', userId)
      .where('server', '=', server.name)
      .where('version', '=', version)
      .where('sealed', '=', sealed)
      .where((eb) => eb.or([eb('refreshing_until', 'is', null), eb('refreshing_until', '<=', now)]))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });

async function renew(
  platform: Platform,
  connection: PersonAndServer,
  before: OAuthCredentials,
): Promise<OAuthCredentials> {
  const { userId, server, version } = connection;
  let after: OAuthCredentials;
  try {
    after = await refreshTokens(platform, before);
  } catch (error) {
    const { auth } = server.legate;
    const isForgotten = error instanceof ClientUnknown && auth.type === 'oauth' && isRegistered(platform, auth, before);
    if (isForgotten) await forgetClient(platform, before.issuer, before);
    const isOver = error instanceof GrantEnded || isForgotten;
    await platform.ledger.change(SYSTEM, async (change) => {
      const own = { user_id: userId, server: server.name, version };
      if (!isOver)
        await change.db
          .updateTable('gateway_connections')
          .set({ refreshing_until: null })
          .where((eb) => eb.and(own))
          .execute();
      else {
        const ended = await change.db
          .deleteFrom('gateway_connections')
          .where((eb) => eb.and(own))
          .executeTakeFirst();
        if (ended.numDeletedRows > 0n)
          change.emit({
            type: 'gateway.disconnected',
            userId,
            data: { server: server.name, reason: 'refused-upstream' },
          });
      }
    });
    if (isOver) throw connection.notConnected();
    platform.log.warn({ server: server.name, problem: (error as Error).message }, 'A token could not be renewed');
    throw new ServerUnavailable('its token could not be renewed');
  }
  const owned = { user_id: userId, server: server.name };
  const sealed = sealCredentials(platform, owned, after);
  const isStored = await platform.ledger.change(SYSTEM, async (change) => {
    const { numUpdatedRows } = await change.db
      .updateTable('gateway_connections')
      .set({ ...sealed, refreshing_until: null, updated_at: change.now })
      .where((eb) => eb.and({ ...owned, version }))
      .executeTakeFirst();
    // The connection has been deleted in the meantime, so the new tokens are revoked like the previous ones.
    if (numUpdatedRows === 0n) await revokeLater(change, [{ ...owned, type: 'oauth', sealed: sealed.sealed }]);
    return numUpdatedRows > 0n;
  });
  if (isStored) return after;
  platform.background.run('revoking tokens', () => revokeWaiting(platform));
  throw connection.notConnected();
}
