import { isoTime, SECOND_MS } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';
import { type Database, type Db, type OAuthClientRow, prepared } from '../../storage/index.ts';
import { ClientErrors } from '../errors.ts';
import { type ClientKeys, clientKeysOf, type KeyMembers } from './client-keys.ts';

/** RFC 8628, section 3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 7523, section 2.1. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const GRANT_TYPES = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  DEVICE_CODE,
  JWT_BEARER,
] as const;
/** Grant types that a client may register for. The others are for agents. */
export const CLIENT_GRANT_TYPES = ['authorization_code', 'refresh_token', DEVICE_CODE, JWT_BEARER] as const;
/** OpenID Connect Core 1.0, section 9; RFC 7523, section 2.2. */
export const PRIVATE_KEY_JWT = 'private_key_jwt';
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', PRIVATE_KEY_JWT] as const;

/** A registered client, or one described by a metadata document. */
export interface Client {
  readonly id: Id<'client'>;
  readonly name: string | null;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  /** Upper bound if an administrator registered the client, otherwise its default scopes; null: not stated. */
  readonly scope: readonly string[] | null;
  readonly authMethod: OAuthClientRow['auth_method'];
  readonly secretHash: SecretHash | null;
  /** null unless it authenticates with a key. */
  readonly keys: ClientKeys | null;
  readonly origin: OAuthClientRow['origin'];
  /** Resources whose access tokens it may introspect, in addition to those of its own grants. */
  readonly resources: readonly string[];
  /** Host of the client's metadata document. */
  readonly documentHost?: string;
}

export const toClient = (row: OAuthClientRow): Client => ({
  keys:
    row.auth_method === PRIVATE_KEY_JWT
      ? clientKeysOf(
          { ...(JSON.parse(row.metadata) as KeyMembers), token_endpoint_auth_method: row.auth_method },
          row.origin,
        )
      : null,
  id: row.id,
  name: row.name,
  redirectUris: JSON.parse(row.redirect_uris) as string[],
  grantTypes: JSON.parse(row.grant_types) as string[],
  scope: row.scope === null ? null : row.scope.split(' ').filter((s) => s !== ''),
  authMethod: row.auth_method,
  secretHash: row.secret_hash,
  origin: row.origin,
  resources: row.origin === 'admin' ? ((JSON.parse(row.metadata) as { resources?: string[] }).resources ?? []) : [],
});

const MAX_CLIENT_ID_CHARS = 2048;
/** Returns whether the database can compare the text with ids of clients. */
export const canBeClientId = (id: string): boolean =>
  id.length <= MAX_CLIENT_ID_CHARS && !id.includes('\u0000') && id.isWellFormed();

/** Reads a client inside a change. */
export async function findClientRow(db: Db, id: Id<'client'>): Promise<OAuthClientRow | undefined> {
  if (!canBeClientId(id)) return undefined;
  return db.selectFrom('oauth_clients').selectAll().where('id', '=', id).executeTakeFirst();
}

const byId = prepared((db, id: Id<'client'>) =>
  db.selectFrom('oauth_clients').selectAll().where('id', '=', id).compile(),
);

/** Like `findClientRow`, by a prepared statement outside a change, for the token endpoint. */
export async function readClientRow(database: Database, id: Id<'client'>): Promise<OAuthClientRow | undefined> {
  return canBeClientId(id) ? byId(database, database.read, id) : undefined;
}

/** Throws 404 CLIENT_NOT_FOUND. */
export async function getClientRow(db: Db, id: Id<'client'>): Promise<OAuthClientRow> {
  const row = await findClientRow(db, id);
  if (!row) throw ClientErrors.CLIENT_NOT_FOUND();
  return row;
}

/** Returns the client information response (RFC 7591, section 3.2.1), without secret or hash. */
export const toRegistration = (row: OAuthClientRow) => ({
  ...(JSON.parse(row.metadata) as Record<string, unknown>),
  client_id: row.id,
  client_id_issued_at: Math.floor(row.created_at / SECOND_MS),
  ...(row.name === null ? {} : { client_name: row.name }),
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  grant_types: JSON.parse(row.grant_types) as string[],
  response_types: (JSON.parse(row.grant_types) as string[]).includes('authorization_code') ? ['code'] : [],
  ...(row.auth_method === 'optional' ? {} : { token_endpoint_auth_method: row.auth_method }),
  ...(row.scope === null ? {} : { scope: row.scope }),
});

/**
 * Returns the fields of a client that events show. All others are left out, because clients that register themselves
 * may write anything into them.
 */
export const toSummary = (row: OAuthClientRow) => ({
  clientId: row.id,
  name: row.name,
  redirectHosts: [...new Set((JSON.parse(row.redirect_uris) as string[]).map(hostOf))],
  origin: row.origin,
});

/** Returns the host of an address, or its scheme if it has no host, such as `com.example.app:/callback`. */
function hostOf(uri: string): string {
  const { host, protocol } = new URL(uri);
  return host === '' ? protocol : host;
}

/** Returns the registration with the fields that only administrators see. */
export const toClientRecord = (row: OAuthClientRow) =>
  versioned(
    {
      ...toRegistration(row),
      origin: row.origin,
      created_at: isoTime(row.created_at),
      last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
    },
    row,
    ['last_used_at'],
  );
