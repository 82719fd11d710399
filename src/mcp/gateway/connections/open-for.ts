import { asId, type Id } from '../../../kernel/ids.ts';
import { pathOf, type Site } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { openHttp } from '../http-server.ts';
import { channelOf } from '../list-tools.ts';
import { personOf } from '../on-connection.ts';
import { NotConnected, type OpenChannel, openLater } from '../peer.ts';
import type { GatewayServer } from '../servers-file.ts';
import type { OpenFor } from '../upstreams.ts';
import { bearerOf } from './oauth/access-token.ts';
import { keepMissingScopes } from './oauth/missing-scopes.ts';
import { challengedScopes } from './oauth/scopes.ts';
import { watchedPeople } from './opened.ts';
import { findConnectionRow, usableCredentials } from './store.ts';
import { withUserFields } from './user-fields.ts';

/** Path of the page on which a person connects. */
export const connectPath = (server: string): string => `/gateway/${encodeURIComponent(server)}/connect`;

export const connectUrl = (site: Site, server: string): string => site.baseUrl + pathOf(site, connectPath(server));

/**
 * Returns the function that opens connections to a server, only ever with the credentials of the person in the key.
 * Requests fail with {@link NotConnected} if the person has none or is suspended.
 */
export const openForPeople =
  (platform: Platform, server: GatewayServer): OpenFor =>
  (key) => {
    const person = personOf(key);
    if (person === '') return channelOf(server, platform.config.dataDir);
    return openLater(channelFor(platform, server, asId('user', person)));
  };

async function channelFor(platform: Platform, server: GatewayServer, person: Id<'user'>): Promise<OpenChannel> {
  const db = platform.database.read;
  const user = await db.selectFrom('users').select('suspended_at').where('id', '=', person).executeTakeFirst();
  if (user && user.suspended_at !== null) throw new NotConnected('The account of this person is suspended.');
  const watched = platform.stateOf(watchedPeople);
  const { auth } = server.legate;
  if (auth.type === 'none' || auth.type === 'static') {
    watched.opened(person, server.name, { known: user !== undefined, version: undefined });
    return channelOf(server, platform.config.dataDir);
  }
  const row = await findConnectionRow(db, person, server.name);
  const credentials = usableCredentials(platform, server, row);
  const place = connectUrl(platform, server.name);
  const notConnected = (): NotConnected =>
    new NotConnected(
      `Nothing was done, because the person you act for is not connected to ${server.name}. Ask them to open ` +
        `${place} and to connect, and then repeat this request.`,
    );
  const refused = (): NotConnected =>
    new NotConnected(
      `Nothing was done, because ${server.name} refuses the credentials of the person you act for. Ask them to open ` +
        `${place} and to connect again, and then repeat this request.`,
    );
  const insufficient = (): NotConnected =>
    new NotConnected(
      `Nothing was done, because the access of the person you act for to ${server.name} does not include this. Ask ` +
        `them to open ${place} and to connect again, and then repeat this request.`,
    );
  const beyondSettings = (scopes: readonly string[]): NotConnected =>
    new NotConnected(
      `Nothing was done, because ${server.name} requires a scope that is not requested for anyone` +
        `${scopes.length > 0 ? ` (${scopes.join(' ')})` : ''}. Its operator sets the scopes in the gateway's settings.`,
    );
  if (!row || !credentials) throw notConnected();
  watched.opened(person, server.name, { known: user !== undefined, version: row.version });
  if (credentials.type === 'userSecret') {
    const filled = withUserFields(server, credentials.fields);
    return filled.url === undefined
      ? channelOf(filled, platform.config.dataDir)
      : openHttp(filled, filled.url, { refused, insufficient: async () => insufficient() });
  }
  const connection = { userId: person, server, version: row.version, notConnected };
  return openHttp(server, credentials.server, {
    bearer: bearerOf(platform, connection, credentials),
    refused,
    insufficient: async (challenge) => {
      const scopes = challengedScopes(challenge);
      if (auth.type === 'oauth' && auth.scopes) return beyondSettings(scopes);
      await keepMissingScopes(platform, connection, scopes);
      return insufficient();
    },
  });
}
