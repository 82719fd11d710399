import { randomInt } from 'node:crypto';
import type { Changer } from '../../../access/caller.ts';
import type { UserPrincipal } from '../../../access/principal.ts';
import { isoTime } from '../../../kernel/clock.ts';
import { LegateError, validationFailed } from '../../../kernel/errors.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { GatewayConnectionRow } from '../../../storage/index.ts';
import { gatewayServers } from '../gateway.ts';
import type { Relay } from '../relay.ts';
import type { GatewayServer } from '../servers-file.ts';
import { ConnectionErrors } from './errors.ts';
import { revokeLater, revokeWaiting } from './oauth/revocations.ts';
import { type OAuthCredentials, revokeTokens } from './oauth/tokens.ts';
import { connectUrl } from './open-for.ts';
import { watchedPeople } from './opened.ts';
import type { Connection } from './schema.ts';
import { type Credentials, findConnectionRow, readCredentials, sealCredentials, usableCredentials } from './store.ts';
import { fieldProblem } from './user-fields.ts';

type Person = Changer & { readonly principal: UserPrincipal };
/** Versions are random, because they are only compared for equality. */
const newVersion = (): number => randomInt(2 ** 47);

/** Returns a server that needs credentials of people. Throws 404 CONNECTION_NOT_FOUND. */
export function getConnectable({ stateOf }: Pick<Platform, 'stateOf'>, name: string): Relay {
  const relay = stateOf(gatewayServers).get(name);
  if (!relay || !isConnectable(relay.server)) throw ConnectionErrors.CONNECTION_NOT_FOUND();
  return relay;
}

const isConnectable = ({ legate: { auth } }: GatewayServer): boolean =>
  auth.type === 'userSecret' || auth.type === 'oauth';

function toConnection(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'secrets'>,
  server: GatewayServer,
  row: GatewayConnectionRow | undefined,
): Connection | undefined {
  const { auth } = server.legate;
  if (auth.type !== 'userSecret' && auth.type !== 'oauth') return undefined;
  const connected = row !== undefined && usableCredentials(platform, server, row) !== undefined;
  return {
    name: server.name,
    type: auth.type,
    fields: auth.type === 'userSecret' ? [...auth.fields] : [],
    connected,
    connectedAt: connected ? isoTime(row.created_at) : null,
    connectUrl: connectUrl(platform, server.name),
  };
}

/** Returns each server that needs credentials of people, and whether this person is connected to it. */
export async function listConnections(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets' | 'stateOf'>,
  userId: Id<'user'>,
): Promise<Connection[]> {
  const servers = [...platform.stateOf(gatewayServers).values()].map(({ server }) => server).filter(isConnectable);
  if (servers.length === 0) return [];
  const rows = await platform.database.read
    .selectFrom('gateway_connections')
    .selectAll()
    .where('user_id', '=', userId)
    .execute();
  return servers.flatMap((server) => {
    const row = rows.find(({ server: name }) => name === server.name);
    return toConnection(platform, server, row) ?? [];
  });
}

/** Throws 404 CONNECTION_NOT_FOUND. */
export async function getConnection(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets' | 'stateOf'>,
  userId: Id<'user'>,
  name: string,
): Promise<Connection> {
  const { server } = getConnectable(platform, name);
  const row = await findConnectionRow(platform.database.read, userId, name);
  return toConnection(platform, server, row) as Connection;
}

/**
 * Stores a person's secrets for a server, and ends processes that run with other secrets. Throws 404
 * CONNECTION_NOT_FOUND, 400 VALIDATION_FAILED.
 */
export async function putConnection(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'owners' | 'secrets' | 'stateOf'>,
  caller: Person,
  name: string,
  fields: Readonly<Record<string, string>>,
): Promise<Connection> {
  const relay = getConnectable(platform, name);
  if (relay.server.legate.auth.type === 'oauth') throw ConnectionErrors.CONNECTION_BY_SIGN_IN();
  assertFits(relay.server, fields);
  return store(platform, caller, relay, { type: 'userSecret', fields });
}

/**
 * Stores the tokens of a sign-in. If the person's right has ended since the sign-in began, the tokens are revoked,
 * because nothing else would end them. Throws 401, 403, 404 CONNECTION_NOT_FOUND.
 */
export async function storeSignIn(
  platform: Pick<Platform, 'background' | 'baseUrl' | 'config' | 'ledger' | 'owners' | 'secrets' | 'stateOf'>,
  caller: Person,
  name: string,
  credentials: OAuthCredentials,
): Promise<Connection> {
  try {
    return await store(platform, caller, getConnectable(platform, name), credentials);
  } catch (error) {
    if (error instanceof LegateError && error.status < 500)
      platform.background.run('revoking tokens of the gateway', () => revokeTokens(platform, credentials));
    throw error;
  }
}

async function store(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'owners' | 'secrets' | 'stateOf'>,
  caller: Person,
  relay: Relay,
  credentials: Credentials,
): Promise<Connection> {
  const { userId } = caller.principal;
  const { name } = relay.server;
  const { row, isChanged } = await platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    if (caller.principal.via === 'external') await platform.owners.ensureExternal(change, caller.principal);
    const before = await findConnectionRow(db, userId, name);
    if (before && hasSame(platform, before, credentials)) return { row: before, isChanged: false };
    const owned = { user_id: userId, server: name };
    const after: GatewayConnectionRow = {
      ...owned,
      type: credentials.type,
      ...sealCredentials(platform, owned, credentials),
      version: newVersion(),
      created_at: before?.created_at ?? now,
      updated_at: now,
      refreshing_until: null,
    };
    await db
      .insertInto('gateway_connections')
      .values(after)
      .onConflict((oc) => oc.columns(['user_id', 'server']).doUpdateSet(after))
      .execute();
    change.emit({ type: 'gateway.connected', userId, data: { server: name, isNew: before === undefined } });
    return { row: after, isChanged: true };
  });
  if (isChanged) {
    platform.stateOf(watchedPeople).connected(userId, name, row.version);
    await relay.upstreams.endPerson(userId);
    relay.announceTools(userId);
  }
  return toConnection(platform, relay.server, row) as Connection;
}

/** Returns whether a row already has these secrets. Tokens always count as new. */
function hasSame(platform: Pick<Platform, 'secrets'>, row: GatewayConnectionRow, credentials: Credentials): boolean {
  const stored = readCredentials(platform, row);
  if (stored?.type !== 'userSecret' || credentials.type !== 'userSecret') return false;
  const { fields } = credentials;
  const names = Object.keys(fields);
  return names.length === Object.keys(stored.fields).length && names.every((n) => stored.fields[n] === fields[n]);
}

function assertFits(server: GatewayServer, fields: Readonly<Record<string, string>>): void {
  const { auth } = server.legate;
  const needed: readonly string[] = auth.type === 'userSecret' ? auth.fields : [];
  const issues = [
    ...needed.filter((name) => !Object.hasOwn(fields, name)).map((name) => ({ name, message: 'is missing' })),
    ...Object.entries(fields).flatMap(([name, value]) => {
      const message = needed.includes(name) ? fieldProblem(server, name, value) : 'is not a field of this server';
      return message === undefined ? [] : [{ name, message }];
    }),
  ];
  if (issues.length > 0)
    throw validationFailed(issues.map(({ name, message }) => ({ path: `fields.${name}`, message })));
}

const revokeInBackground = (
  platform: Pick<Platform, 'background' | 'database' | 'ledger' | 'log' | 'secrets' | 'stateOf'>,
): void => platform.background.run('revoking tokens of the gateway', () => revokeWaiting(platform));

/**
 * Deletes a person's credentials for a server, even if the server is no longer configured, and ends its processes.
 * Throws 404 CONNECTION_NOT_FOUND.
 */
export async function deleteConnection(
  platform: Pick<Platform, 'background' | 'database' | 'ledger' | 'log' | 'secrets' | 'stateOf'>,
  caller: Person,
  name: string,
): Promise<void> {
  const { userId } = caller.principal;
  // No text of PostgreSQL has a NUL.
  if (name.includes('\u0000')) throw ConnectionErrors.CONNECTION_NOT_FOUND();
  await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const deleted = await change.db
      .deleteFrom('gateway_connections')
      .where('user_id', '=', userId)
      .where('server', '=', name)
      .returningAll()
      .execute();
    if (deleted.length === 0) throw ConnectionErrors.CONNECTION_NOT_FOUND();
    await revokeLater(change, deleted);
    change.emit({ type: 'gateway.disconnected', userId, data: { server: name, reason: 'deleted' } });
  });
  revokeInBackground(platform);
  await platform.stateOf(gatewayServers).get(name)?.upstreams.endPerson(userId);
}

/** Deletes the connections of people and their unfinished sign-ins, in the change that ends the accounts. */
export async function deleteConnectionsOf(
  change: Change,
  userIds: readonly Id<'user'>[],
  reason: 'user-deleted' | 'address-proved',
): Promise<void> {
  for (const userId of userIds) {
    const deleted = await change.db
      .deleteFrom('gateway_connections')
      .where('user_id', '=', userId)
      .returningAll()
      .execute();
    await revokeLater(change, deleted);
    await change.db.deleteFrom('gateway_oauth_states').where('user_id', '=', userId).execute();
    for (const { server } of deleted) change.emit({ type: 'gateway.disconnected', userId, data: { server, reason } });
  }
}
