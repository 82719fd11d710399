import { pathOf } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { channelOf } from '../list-tools.ts';
import { NotConnected, openLater } from '../peer.ts';
import type { GatewayServer } from '../servers-file.ts';
import { type OpenFor, personOf } from '../upstreams.ts';
import { watchedPeople } from './opened.ts';
import { findConnectionRow, usableCredentials } from './store.ts';
import { withUserFields } from './user-fields.ts';

/** Path of the page on which a person connects. */
export const connectPath = (server: string): string => `/gateway/${encodeURIComponent(server)}/connect`;

export const connectUrl = (platform: Platform, server: string): string =>
  platform.baseUrl + pathOf(platform, connectPath(server));

/**
 * Returns how connections to a server are opened: with the credentials of the person whom the key names, and with no
 * others. Without them, and for a suspended person, requests fail with {@link NotConnected}.
 */
export const openForPeople =
  (platform: Platform, server: GatewayServer): OpenFor =>
  (key) => {
    const person = personOf(key);
    if (person === '') return channelOf(server);
    return openLater(serverOf(platform, server, person).then(channelOf));
  };

async function serverOf(platform: Platform, server: GatewayServer, person: string): Promise<GatewayServer> {
  const db = platform.database.read;
  const user = await db.selectFrom('users').select('suspended_at').where('id', '=', person).executeTakeFirst();
  if (user && user.suspended_at !== null) throw new NotConnected('The account of this person is suspended.');
  const watched = platform.stateOf(watchedPeople);
  const { auth } = server.legate;
  if (auth.type === 'none' || auth.type === 'static') {
    watched.opened(person, server.name, { known: user !== undefined, version: undefined });
    return server;
  }
  const row = await findConnectionRow(db, person, server.name);
  const credentials = usableCredentials(platform, server, row);
  if (!row || !credentials)
    throw new NotConnected(
      `Nothing was done, because the person you act for is not connected to ${server.name} yet. Ask them to open ` +
        `${connectUrl(platform, server.name)} and to enter what it needs, and then repeat this request.`,
    );
  watched.opened(person, server.name, { known: user !== undefined, version: row.version });
  return withUserFields(server, credentials.fields);
}
