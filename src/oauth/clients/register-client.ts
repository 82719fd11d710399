import { z } from 'zod';
import type { Changer } from '../../access/caller.ts';
import type { LegateError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { text, toIssues } from '../../kernel/json.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthClientRow } from '../../storage/index.ts';
import { OAuthErrors } from '../errors.ts';
import { findTarget } from '../resource.ts';
import { knownScopes, scopeNames } from '../scope.ts';
import {
  AUTH_METHODS,
  CLIENT_GRANT_TYPES,
  DEVICE_CODE,
  JWT_BEARER,
  PRIVATE_KEY_JWT,
  toRegistration,
  toSummary,
} from './client.ts';
import { CLIENT_ALGORITHMS, KeysAddress, PublicKeys } from './client-keys.ts';
import { deleteSurplus } from './delete-unused.ts';
import { redirectUriProblem } from './redirect-uri.ts';

const MAX_REDIRECT_URIS = 20;
const WebUrl = text(2048).refine(
  (value) => URL.canParse(value) && /^https?:\/\//i.test(value),
  'must be an http or https URL',
);

/** Members of RFC 7591, section 2, that are stored and returned unchanged. Unknown members are ignored (section 2). */
const StoredMetadata = z.object({
  client_uri: WebUrl.optional(),
  logo_uri: WebUrl.optional(),
  tos_uri: WebUrl.optional(),
  policy_uri: WebUrl.optional(),
  contacts: z.array(text(256)).max(10).optional(),
  software_id: text(256).optional(),
  software_version: text(256).optional(),
  application_type: z.enum(['web', 'native']).optional(),
});

/** The keys of a client with the method private_key_jwt. Ignored for other methods. */
const StoredKeys = z.object({
  jwks: PublicKeys.optional(),
  jwks_uri: KeysAddress.optional(),
  token_endpoint_auth_signing_alg: z.enum(CLIENT_ALGORITHMS).optional(),
});

/** Excludes control characters and those that change the text direction of the page around the name. */
const DISPLAYABLE = /^[^\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;
/** U+2800 is the blank braille pattern. */
const VISIBLE = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

export const ClientMetadata = StoredMetadata.extend({
  // Checked by `parseClientMetadata` if the client uses them.
  jwks: z.unknown().optional(),
  jwks_uri: z.unknown().optional(),
  token_endpoint_auth_signing_alg: z.unknown().optional(),
  redirect_uris: z.array(z.string()).max(MAX_REDIRECT_URIS, `must be at most ${MAX_REDIRECT_URIS}`).default([]),
  client_name: text(200)
    .regex(DISPLAYABLE, 'must not contain control or direction characters')
    .refine((name) => VISIBLE.test(name), 'must contain a visible character')
    .optional(),
  token_endpoint_auth_method: z.enum(AUTH_METHODS).optional(),
  grant_types: z.array(text(100)).max(10).optional(),
  response_types: z.array(text(100)).max(10).optional(),
  scope: text(2000, 0).optional(),
}).meta({ id: 'ClientMetadata' });

/**
 * Metadata that an administrator registers (contract 12.10). It may describe a resource server, which needs no grant
 * type.
 */
export const AdminClientMetadata = ClientMetadata.extend({
  resources: z
    .array(text(2048))
    .max(20)
    .optional()
    .meta({ description: 'Resources of the client. It may introspect access tokens for them.' }),
}).meta({ id: 'AdminClientMetadata' });
type AdminClientMetadata = z.output<typeof AdminClientMetadata>;

/** Response to a registration. */
export const Registered = z
  .looseObject({ client_id: z.string(), client_id_issued_at: z.number(), redirect_uris: z.array(z.string()) })
  .meta({ id: 'ClientRegistration' });
export type ClientMetadata = z.output<typeof ClientMetadata>;

type ParsedMetadata = Omit<AdminClientMetadata, keyof Keys> & Keys;
type Keys = { [Name in keyof typeof StoredKeys.shape]: z.output<typeof StoredKeys>[Name] };

function invalidMetadata(error: z.ZodError): LegateError {
  const [issue] = toIssues(error);
  const message = `${issue?.path || 'The client metadata'} ${issue?.message ?? 'is not valid'}.`;
  return issue?.path.startsWith('redirect_uris')
    ? OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message })
    : OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message });
}

/** Returns the keys of a client that authenticates with a key (RFC 7591, section 2: `jwks` or `jwks_uri`, not both). */
function parseKeys(metadata: ClientMetadata): Keys {
  if (metadata.token_endpoint_auth_method !== PRIVATE_KEY_JWT)
    return { jwks: undefined, jwks_uri: undefined, token_endpoint_auth_signing_alg: undefined };
  const result = StoredKeys.safeParse(metadata);
  if (!result.success) throw invalidMetadata(result.error);
  const { jwks, jwks_uri, token_endpoint_auth_signing_alg } = result.data;
  if ((jwks === undefined) === (jwks_uri === undefined))
    throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: 'private_key_jwt requires either jwks or jwks_uri.' });
  return { jwks, jwks_uri, token_endpoint_auth_signing_alg };
}

/** Validates client metadata. Throws OAUTH_INVALID_REDIRECT_URI or OAUTH_INVALID_CLIENT_METADATA. */
export function parseClientMetadata(
  value: unknown,
  schema: typeof ClientMetadata | typeof AdminClientMetadata = ClientMetadata,
): ParsedMetadata {
  const result = schema.safeParse(value);
  if (!result.success) throw invalidMetadata(result.error);
  const metadata: ParsedMetadata = { ...result.data, ...parseKeys(result.data) };
  const grants = grantTypesOf(metadata);
  if (grants.includes('authorization_code') && metadata.redirect_uris.length === 0)
    throw OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message: 'redirect_uris must not be empty.' });
  metadata.redirect_uris.forEach((uri, i) => {
    const problem = redirectUriProblem(uri);
    if (problem) throw OAuthErrors.OAUTH_INVALID_REDIRECT_URI({ message: `redirect_uris.${i} ${problem}.` });
  });
  if (metadata.response_types?.some((type) => type !== 'code'))
    throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: 'response_types may contain only code.' });
  if (grants.length === 0 && !metadata.resources?.length)
    throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({
      message: 'grant_types must contain authorization_code, refresh_token or a grant of devices or JWTs.',
    });
  return metadata;
}

/**
 * Returns those of the named grant types that are supported; RFC 7591, section 2, lets the server drop the others.
 * Without any, a client gets authorization_code and refresh_token.
 */
export const grantTypesOf = ({ grant_types }: Pick<ClientMetadata, 'grant_types'>): string[] =>
  CLIENT_GRANT_TYPES.filter((type) => grant_types?.includes(type) ?? (type !== DEVICE_CODE && type !== JWT_BEARER));

/** Returns the resources spelled as registered. Throws OAUTH_INVALID_CLIENT_METADATA for an unregistered one. */
async function resolveResources(
  platform: Pick<Platform, 'audience' | 'database'>,
  resources: readonly string[],
): Promise<string[]> {
  const registered: string[] = [];
  for (const [i, resource] of resources.entries()) {
    const target = await findTarget(platform, resource);
    if (!target)
      throw OAuthErrors.OAUTH_INVALID_CLIENT_METADATA({ message: `resources.${i} is not a registered MCP server.` });
    registered.push(target.resource);
  }
  return registered;
}

/**
 * Registers a client (RFC 7591, contract 12.1). A client that states no authentication method gets a secret whose use
 * is optional. No URL of the metadata is fetched here; only `jwks_uri` is ever fetched.
 */
export async function registerClient(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'ledger'>,
  caller: Changer,
  value: unknown,
  origin: 'self' | 'admin',
) {
  const metadata = parseClientMetadata(value, origin === 'admin' ? AdminClientMetadata : ClientMetadata);
  const method = metadata.token_endpoint_auth_method ?? 'optional';
  const secret = method === 'none' || method === PRIVATE_KEY_JWT ? undefined : newSecret('clientSecret');
  const known = knownScopes(platform);
  const scope = metadata.scope === undefined ? null : scopeNames(metadata.scope).filter((name) => known.has(name));
  const { client_name, redirect_uris } = metadata;
  const resources = await resolveResources(platform, metadata.resources ?? []);
  const stored = {
    ...StoredMetadata.parse(metadata),
    ...StoredKeys.parse(metadata),
    ...(resources.length > 0 ? { resources } : {}),
  };
  const row = await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const client: OAuthClientRow = {
      id: newId('client', change.now),
      secret_hash: secret === undefined ? null : secretHash(secret),
      auth_method: method,
      name: client_name ?? null,
      redirect_uris: JSON.stringify(redirect_uris),
      grant_types: JSON.stringify(grantTypesOf(metadata)),
      scope: scope === null ? null : scope.join(' '),
      metadata: JSON.stringify(stored),
      origin,
      created_at: change.now,
      last_used_at: null,
    };
    await change.db.insertInto('oauth_clients').values(client).execute();
    change.emit({
      type: 'client.created',
      data: { clientId: client.id, name: client.name, origin },
      after: toSummary(client),
    });
    if (origin === 'self') await deleteSurplus(change, platform.config.mcp.unusedClients);
    return client;
  });
  return {
    ...toRegistration(row),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
  };
}
