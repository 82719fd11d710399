import { z } from 'zod';
import type { Changer } from '../../access/caller.ts';
import { newId } from '../../kernel/ids.ts';
import { text, toIssues } from '../../kernel/json.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthClientRow } from '../../storage/index.ts';
import { OAuthErrors } from '../errors.ts';
import { findTarget } from '../resource.ts';
import { knownScopes, scopeNames } from '../scope.ts';
import { AUTH_METHODS, CLIENT_GRANT_TYPES, toRegistration } from './client.ts';
import { redirectUriProblem } from './redirect-uri.ts';

const MAX_REDIRECT_URIS = 20;
const WebAddress = text(2048).refine(
  (value) => URL.canParse(value) && /^https?:\/\//i.test(value),
  'must be an http or https address',
);

/** Members of RFC 7591, section 2, that are kept and shown again. Others are ignored, as its section 2 says. */
const Kept = z.object({
  client_uri: WebAddress.optional(),
  logo_uri: WebAddress.optional(),
  tos_uri: WebAddress.optional(),
  policy_uri: WebAddress.optional(),
  contacts: z.array(text(256)).max(10).optional(),
  software_id: text(256).optional(),
  software_version: text(256).optional(),
  application_type: z.enum(['web', 'native']).optional(),
});

/** No control characters, and nothing that turns the direction of the text around it on a page. */
const SHOWABLE = /^[^\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;

export const ClientMetadata = Kept.extend({
  redirect_uris: z.array(z.string()).max(MAX_REDIRECT_URIS, `must be at most ${MAX_REDIRECT_URIS}`).default([]),
  client_name: text(200).regex(SHOWABLE, 'must not contain control or direction characters').optional(),
  token_endpoint_auth_method: z.enum(AUTH_METHODS).optional(),
  grant_types: z.array(text(100)).max(10).optional(),
  response_types: z.array(text(100)).max(10).optional(),
  scope: text(2000, 0).optional(),
}).meta({ id: 'ClientMetadata' });

/** What an administrator registers (contract 12.10): also a resource server, which needs no grant type. */
export const AdminClientMetadata = ClientMetadata.extend({
  resources: z
    .array(text(2048))
    .max(20)
    .optional()
    .meta({ description: 'Resources that the client stands for: it may introspect access tokens for them.' }),
}).meta({ id: 'AdminClientMetadata' });
type AdminClientMetadata = z.output<typeof AdminClientMetadata>;

/** Answer to a registration. */
export const Registered = z
  .looseObject({ client_id: z.string(), client_id_issued_at: z.number(), redirect_uris: z.array(z.string()) })
  .meta({ id: 'ClientRegistration' });
export type ClientMetadata = z.output<typeof ClientMetadata>;

/** Checks client metadata beyond their form. Throws OAUTH_INVALID_REDIRECT_URI or OAUTH_INVALID_CLIENT_METADATA. */
export function parseClientMetadata(
  value: unknown,
  schema: typeof ClientMetadata | typeof AdminClientMetadata = ClientMetadata,
): AdminClientMetadata {
  const result = schema.safeParse(value);
  if (!result.success) {
    const [issue] = toIssues(result.error);
    const message = `${issue?.path ?? ''}: ${issue?.message ?? 'is not valid'}`;
    throw issue?.path.startsWith('redirect_uris')
      ? OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message })
      : OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message });
  }
  const metadata: AdminClientMetadata = result.data;
  const grants = grantTypesOf(metadata);
  if (grants.includes('authorization_code') && metadata.redirect_uris.length === 0)
    throw OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message: 'redirect_uris: at least one is required' });
  metadata.redirect_uris.forEach((uri, i) => {
    const problem = redirectUriProblem(uri);
    if (problem) throw OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message: `redirect_uris.${i}: ${problem}` });
  });
  if (metadata.response_types?.some((type) => type !== 'code'))
    throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: 'response_types: only code is supported' });
  if (grants.length === 0 && !metadata.resources?.length)
    throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: 'grant_types: none of them is supported for clients' });
  return metadata;
}

/**
 * Those that we support of those that it names: RFC 7591, section 2, lets the server leave out the others. A client that names none
 * gets refresh tokens too.
 */
export const grantTypesOf = ({ grant_types }: ClientMetadata): string[] =>
  CLIENT_GRANT_TYPES.filter((type) => grant_types?.includes(type) ?? true);

/** The resources in the spelling of their registration. Throws OAUTH_INVALID_CLIENT_METADATA for one that is not known here. */
async function knownResources(platform: Platform, resources: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const [i, resource] of resources.entries()) {
    const target = await findTarget(platform, resource);
    if (!target) throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: `resources.${i}: is not registered here` });
    found.push(target.resource);
  }
  return found;
}

/** Rows that one registration removes at most: a limit that was lowered is reached step by step. */
const MAX_REMOVED = 100;

/** Keeps the newest of the clients that registered themselves and were never used, so that nobody fills the disk with them. */
async function removeOldestUnused({ db }: Change, kept: number): Promise<void> {
  const surplus = await db
    .selectFrom('oauth_clients')
    .select('id')
    .where('last_used_at', 'is', null)
    .where('origin', '=', 'self')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_REMOVED)
    .offset(kept)
    .execute();
  if (surplus.length === 0) return;
  await db
    .deleteFrom('oauth_clients')
    .where(
      'id',
      'in',
      surplus.map(({ id }) => id),
    )
    .execute();
}

/**
 * Registers a client (RFC 7591, contract 12.1). No method stated: a secret is issued, and need not be sent. Nothing that a
 * registration names is fetched.
 */
export async function registerClient(platform: Platform, caller: Changer, value: unknown, origin: 'self' | 'admin') {
  const metadata = parseClientMetadata(value, origin === 'admin' ? AdminClientMetadata : ClientMetadata);
  const method = metadata.token_endpoint_auth_method ?? 'optional';
  const secret = method === 'none' ? undefined : newSecret('clientSecret');
  const known = knownScopes(platform);
  const scope = metadata.scope === undefined ? null : scopeNames(metadata.scope).filter((name) => known.has(name));
  const { client_name, redirect_uris } = metadata;
  const resources = await knownResources(platform, metadata.resources ?? []);
  const kept = { ...Kept.parse(metadata), ...(resources.length > 0 ? { resources } : {}) };
  const row = await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const made: OAuthClientRow = {
      id: newId('client', change.now),
      secret_hash: secret === undefined ? null : secretHash(secret),
      auth_method: method,
      name: client_name ?? null,
      redirect_uris: JSON.stringify(redirect_uris),
      grant_types: JSON.stringify(grantTypesOf(metadata)),
      scope: scope === null ? null : scope.join(' '),
      metadata: JSON.stringify(kept),
      origin,
      created_at: change.now,
      last_used_at: null,
    };
    await change.db.insertInto('oauth_clients').values(made).execute();
    if (origin === 'self') await removeOldestUnused(change, platform.config.mcp.unusedClients);
    return made;
  });
  return {
    ...toRegistration(row),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
  };
}
