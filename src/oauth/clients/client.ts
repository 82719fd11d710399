import { isoTime, SECOND_MS } from '../../kernel/clock.ts';
import { type Database, type Db, type OAuthClientRow, prepared } from '../../storage/index.ts';
import { ClientErrors } from '../errors.ts';

export const GRANT_TYPES = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:token-exchange',
] as const;
/** What a client may register for; the others are used by agents themselves. */
export const CLIENT_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** A client as the endpoints use it, wherever its metadata come from. */
export interface Client {
  readonly id: string;
  readonly name: string | null;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  /** What an administrator lets it ask for, or what it asks for unless it says otherwise; null: neither. */
  readonly scope: readonly string[] | null;
  readonly authMethod: OAuthClientRow['auth_method'];
  readonly secretHash: string | null;
  readonly origin: OAuthClientRow['origin'];
  /** What it may introspect tokens for, besides those of its own grants. */
  readonly resources: readonly string[];
  /** Host of its metadata document. */
  readonly documentHost?: string;
}

export const toClient = (row: OAuthClientRow): Client => ({
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
const canBeId = (id: string): boolean =>
  id.length <= MAX_CLIENT_ID_CHARS && !id.includes('\u0000') && id.isWellFormed();

/** undefined for what cannot be the id of a stored client. */
export async function findClientRow(db: Db, id: string): Promise<OAuthClientRow | undefined> {
  if (!canBeId(id)) return undefined;
  return db.selectFrom('oauth_clients').selectAll().where('id', '=', id).executeTakeFirst();
}

const byId = prepared((db, id: string) => db.selectFrom('oauth_clients').selectAll().where('id', '=', id).compile());

/** The same outside of a change, as every token request asks it. */
export async function readClientRow(database: Database, id: string): Promise<OAuthClientRow | undefined> {
  return canBeId(id) ? byId(database, database.read, id) : undefined;
}

/** 404 CLIENT_NOT_FOUND. */
export async function requireClientRow(db: Db, id: string): Promise<OAuthClientRow> {
  const row = await findClientRow(db, id);
  if (!row) throw ClientErrors.CLIENT_NOT_FOUND();
  return row;
}

/** As RFC 7591, section 3.2.1, answers it; never the secret, nor the hash of it. */
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

/** For administrators: the registration, and what is known beyond it. */
export const toClientRecord = (row: OAuthClientRow) => ({
  ...toRegistration(row),
  origin: row.origin,
  created_at: isoTime(row.created_at),
  last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
});
