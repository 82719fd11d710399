import { whyInactive } from '../../authorization/agents/index.ts';
import type { LegateError } from '../../kernel/errors.ts';
import { asId, type Id, isId } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { secretHash, secretsEqual } from '../../kernel/secrets.ts';
import { readUnverified } from '../../people/federation/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentKeysRow, AgentRow, Db } from '../../storage/index.ts';
import { findAgentKeys } from '../agent-keys/store.ts';
import { OAuthErrors } from '../errors.ts';
import type { ClientEndpoint } from '../metadata/metadata.ts';
import type { Client } from './client.ts';
import { CLIENT_ASSERTION_TYPE, checkClientAssertion } from './client-assertion.ts';
import type { ClientKeys } from './client-keys.ts';
import { resolveClient } from './resolve-client.ts';

/** The client id and secret of a request, from the body or from HTTP Basic (RFC 6749, section 2.3.1). */
export interface ClientCredentials {
  /** Of a client or of an agent. */
  readonly id: string;
  readonly secret: string | undefined;
  /** A JWT that the client signed (RFC 7523, section 2.2). */
  readonly assertion: string | undefined;
  readonly byBasic: boolean;
  /** The endpoint that is called. An assertion may be for it. */
  readonly endpoint: ClientEndpoint;
}

/** The parameters of a body that authenticate a client. */
export interface ClientParameters {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
}

/**
 * Throws OAUTH_INVALID_REQUEST for more than one way to authenticate, OAUTH_INVALID_CLIENT if no client is named.
 *
 * @param header Authorization of the request
 */
export function readClientCredentials(
  header: string | null,
  body: ClientParameters,
  endpoint: ClientEndpoint,
): ClientCredentials {
  const basic = header !== null && /^basic /i.test(header);
  const { client_assertion, client_assertion_type, client_secret } = body;
  if ([basic, client_secret !== undefined, client_assertion !== undefined].filter(Boolean).length > 1)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      reason: 'client-authenticated-twice',
      message: 'Use only one of the Authorization header, client_secret and client_assertion.',
    });
  if (client_assertion !== undefined || client_assertion_type !== undefined) return readAssertion(body, endpoint);
  if (!basic) {
    if (body.client_id === undefined)
      throw OAuthErrors.OAUTH_INVALID_CLIENT({ reason: 'client-id-missing', message: 'client_id is missing.' });
    return { id: body.client_id, secret: client_secret, assertion: undefined, byBasic: false, endpoint };
  }
  const [id, secret] = readBasic(header.slice(6)) ?? [];
  if (id === undefined || secret === undefined)
    throw invalidClient({ id: undefined, byBasic: true }, 'client-header-malformed');
  if (body.client_id !== undefined && body.client_id !== id)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      reason: 'client-id-mismatch',
      message: 'client_id and the Authorization header are for different clients.',
    });
  return { id, secret: secret === '' ? undefined : secret, assertion: undefined, byBasic: true, endpoint };
}

/** The assertion names the client, so `client_id` may be left out (RFC 7521, section 4.2). */
function readAssertion(
  { client_id, client_assertion, client_assertion_type }: ClientParameters,
  endpoint: ClientEndpoint,
): ClientCredentials {
  if (client_assertion === undefined || client_assertion_type !== CLIENT_ASSERTION_TYPE)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      reason: 'client-assertion-type',
      message: `client_assertion requires client_assertion_type=${CLIENT_ASSERTION_TYPE}.`,
    });
  const id = client_id ?? readUnverified(client_assertion)?.issuer;
  if (id === undefined) throw invalidClient({ id, byBasic: false }, 'assertion-malformed');
  return { id, secret: undefined, assertion: client_assertion, byBasic: false, endpoint };
}

/** Accepts id and secret plain or form-encoded (RFC 6749, section 2.3.1): issued ones are the same in both forms. */
function readBasic(value: string): [id: string, secret: string] | undefined {
  const text = Buffer.from(value.trim(), 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  try {
    return [
      decodeURIComponent(text.slice(0, colon).replaceAll('+', ' ')),
      decodeURIComponent(text.slice(colon + 1).replaceAll('+', ' ')),
    ];
  } catch {
    return [text.slice(0, colon), text.slice(colon + 1)];
  }
}

export const hasClientCredentials = (header: string | null, body: ClientParameters): boolean =>
  body.client_id !== undefined || provesIdentity(header, body);

/** Returns whether a request has a secret or an assertion of a client. */
export const provesIdentity = (header: string | null, body: ClientParameters): boolean =>
  body.client_secret !== undefined || body.client_assertion !== undefined || /^basic /i.test(header ?? '');

/** Longest part of an unverified client id that is logged. */
export const MAX_LOGGED_CHARS = 200;

/** The same 401 for every reason, with a challenge if the client used HTTP Basic (RFC 6749, section 5.2). */
export const invalidClient = (
  { id, byBasic }: { readonly id: string | undefined; readonly byBasic: boolean },
  reason: RefusalReason,
): LegateError =>
  OAuthErrors.OAUTH_INVALID_CLIENT({
    reason,
    context: { clientId: id?.slice(0, MAX_LOGGED_CHARS) },
    ...(byBasic ? { headers: { 'www-authenticate': 'Basic realm="oauth", charset="UTF-8"' } } : {}),
  });

/**
 * Authenticates a client as its registration requires (contract 12.1, 23.4): a secret or assertion that is sent must be
 * valid, and a required one must be sent. Throws OAUTH_INVALID_CLIENT.
 */
export async function authenticateClient(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  by: ClientCredentials,
): Promise<{ client: Client; confidential: boolean }> {
  const { id, secret } = by;
  const client = await resolveClient(platform, asId('client', id));
  if (!client) throw invalidClient(by, 'client-unknown');
  if (by.assertion !== undefined) {
    const reason = client.keys
      ? await checkClientAssertion(platform, id, by.assertion, client.keys, by.endpoint)
      : 'client-assertion-unexpected';
    if (reason) throw invalidClient(by, reason);
    return { client, confidential: true };
  }
  if (secret === undefined) {
    if (client.keys) throw invalidClient(by, 'client-assertion-missing');
    if (client.authMethod !== 'none' && client.authMethod !== 'optional')
      throw invalidClient(by, 'client-secret-missing');
    return { client, confidential: false };
  }
  if (client.secretHash === null) throw invalidClient(by, 'client-secret-unexpected');
  if (!secretsEqual(secretHash(secret), client.secretHash)) throw invalidClient(by, 'client-secret-wrong');
  return { client, confidential: true };
}

/** The result of checking an agent's assertion, which happens before the change that uses it. */
type Proof = Pick<AgentKeysRow, 'agent_id' | 'keys'>;

/**
 * Checks the assertion of an agent and marks it as used. Returns undefined if the agent sent none. Throws
 * OAUTH_INVALID_CLIENT.
 */
export async function proveAgent(
  platform: Pick<Platform, 'clock' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  by: ClientCredentials,
): Promise<Proof | undefined> {
  if (by.assertion === undefined) return undefined;
  const row = isId('agent', by.id) ? await findAgentKeys(platform.database.read, by.id) : undefined;
  if (!row) throw invalidClient(by, 'client-assertion-unexpected');
  const keys = JSON.parse(row.keys) as ClientKeys;
  const reason = await checkClientAssertion(platform, by.id, by.assertion, keys, by.endpoint);
  if (reason) throw invalidClient(by, reason);
  return row;
}

/**
 * Returns the active agent, of any type, that has this id and this agent token (contract 12.9) or key, or the reason
 * for a refusal.
 */
export async function authenticateAgent(
  db: Db,
  { id, secret }: ClientCredentials,
  now: number,
  proof?: Proof,
): Promise<AgentRow | RefusalReason> {
  if (secret === undefined && !proof) return 'client-secret-missing';
  if (!isId('agent', id)) return 'client-unknown';
  const row = await db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return 'client-unknown';
  if (secret !== undefined && !secretsEqual(secretHash(secret), row.token_hash)) return 'client-secret-wrong';
  // The keys may have been replaced since the assertion was checked.
  if (proof && (proof.agent_id !== id || (await findAgentKeys(db, id))?.keys !== proof.keys))
    return 'assertion-signature';
  return whyInactive(row, now) ?? row;
}

/** A client, or an agent that obtains tokens for itself. */
export interface TokenHolder {
  /** An agent is its own client. */
  readonly id: Id<'client'>;
  /** Whether it authenticated with a secret or a key. */
  readonly confidential: boolean;
  readonly resources: readonly string[];
}

/** Authenticates a client or an agent. Throws OAUTH_INVALID_CLIENT. */
export async function authenticateHolder(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  by: ClientCredentials,
): Promise<TokenHolder> {
  if (!isId('agent', by.id)) {
    const { client, confidential } = await authenticateClient(platform, by);
    return { id: client.id, confidential, resources: client.resources };
  }
  const proof = await proveAgent(platform, by);
  const agent = await authenticateAgent(platform.database.read, by, platform.clock.now(), proof);
  if (typeof agent === 'string') throw invalidClient(by, agent);
  return { id: asId('client', agent.id), confidential: true, resources: [] };
}
