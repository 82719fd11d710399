import { mayAct } from '../../authorization/agents/index.ts';
import type { LegateError } from '../../kernel/errors.ts';
import { isId } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { secretHash, secretsEqual } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { OAuthErrors } from '../errors.ts';
import type { Client } from './client.ts';
import { resolveClient } from './resolve-client.ts';

/** The client id and secret of a request, from the body or from HTTP Basic (RFC 6749, section 2.3.1). */
export interface ClientCredentials {
  readonly id: string;
  readonly secret: string | undefined;
  readonly byBasic: boolean;
}

/** Throws OAUTH_INVALID_REQUEST if body and header both authenticate, OAUTH_INVALID_CLIENT if neither does. */
export function readClientCredentials(
  request: Request,
  body: { client_id?: string | undefined; client_secret?: string | undefined },
): ClientCredentials {
  const header = request.headers.get('authorization');
  if (header === null || !/^basic /i.test(header)) {
    if (body.client_id === undefined)
      throw OAuthErrors.OAUTH_INVALID_CLIENT({ reason: 'client-id-missing', message: 'client_id is missing.' });
    return { id: body.client_id, secret: body.client_secret, byBasic: false };
  }
  if (body.client_secret !== undefined)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      reason: 'client-authenticated-twice',
      message: 'The client sent credentials both in the body and in the Authorization header. Use one.',
    });
  const [id, secret] = readBasic(header.slice(6)) ?? [];
  if (id === undefined || secret === undefined)
    throw invalidClient({ id: undefined, byBasic: true }, 'client-header-malformed');
  if (body.client_id !== undefined && body.client_id !== id)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      reason: 'client-id-mismatch',
      message: 'client_id and the Authorization header name different clients.',
    });
  return { id, secret: secret === '' ? undefined : secret, byBasic: true };
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

export const hasClientCredentials = (
  request: Request,
  body: { client_id?: string | undefined; client_secret?: string | undefined },
): boolean => body.client_id !== undefined || sendsSecret(request, body);

export const sendsSecret = (request: Request, body: { client_secret?: string | undefined }): boolean =>
  body.client_secret !== undefined || /^basic /i.test(request.headers.get('authorization') ?? '');

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
 * Authenticates a client as its registration requires (contract 12.1): a secret that is sent must match, and a required
 * one must be sent. Throws OAUTH_INVALID_CLIENT.
 */
export async function authenticateClient(
  platform: Platform,
  by: ClientCredentials,
): Promise<{ client: Client; confidential: boolean }> {
  const { id, secret } = by;
  const client = await resolveClient(platform, id);
  if (!client) throw invalidClient(by, 'client-unknown');
  if (secret === undefined) {
    if (client.authMethod !== 'none' && client.authMethod !== 'optional')
      throw invalidClient(by, 'client-secret-missing');
    return { client, confidential: false };
  }
  if (client.secretHash === null) throw invalidClient(by, 'client-secret-unexpected');
  if (!secretsEqual(secretHash(secret), client.secretHash)) throw invalidClient(by, 'client-secret-wrong');
  return { client, confidential: true };
}

/** Returns the active agent, of any type, with this id and agent token (contract 12.9), or why it is refused. */
export async function authenticateAgent(
  db: Db,
  { id, secret }: ClientCredentials,
  now: number,
): Promise<AgentRow | RefusalReason> {
  if (secret === undefined) return 'client-secret-missing';
  if (!isId('agent', id)) return 'client-unknown';
  const row = await db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return 'client-unknown';
  if (!secretsEqual(secretHash(secret), row.token_hash)) return 'client-secret-wrong';
  return mayAct(row, now) ? row : 'agent-inactive';
}

/** A client, or an agent with tokens of its own. */
export interface TokenHolder {
  readonly id: string;
  /** It authenticated with a secret. */
  readonly confidential: boolean;
  readonly resources: readonly string[];
}

/** Authenticates a client or an agent. Throws OAUTH_INVALID_CLIENT. */
export async function authenticateHolder(platform: Platform, by: ClientCredentials): Promise<TokenHolder> {
  if (!isId('agent', by.id)) {
    const { client, confidential } = await authenticateClient(platform, by);
    return { id: client.id, confidential, resources: client.resources };
  }
  const agent = await authenticateAgent(platform.database.read, by, platform.clock.now());
  if (typeof agent === 'string') throw invalidClient(by, agent);
  return { id: agent.id, confidential: true, resources: [] };
}
