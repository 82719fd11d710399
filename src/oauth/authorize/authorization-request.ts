import { z } from 'zod';
import type { LegateError, validationFailed } from '../../kernel/errors.ts';
import { parseWith, text } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import type { Client } from '../clients/client.ts';
import { matchesRedirectUri, withParameters } from '../clients/redirect-uri.ts';
import { resolveClient } from '../clients/resolve-client.ts';
import { ClientErrors, OAuthErrors, oauthFailure } from '../errors.ts';
import { type Target, targetOf } from '../resource.ts';
import { askedScopes } from '../scope.ts';

const MAX_STATE_CHARS = 4096;

/** Query of the authorization endpoint (OAuth 2.1, section 4.1.1). Unknown parameters are ignored. */
const Addressee = z.object({ client_id: text(2048), redirect_uri: text(2048).optional() });
const ADDRESSEE: ReadonlySet<string> = new Set(Object.keys(Addressee.shape));
const Parameters = z.object({
  response_type: text(100).optional(),
  code_challenge: text(256).optional(),
  code_challenge_method: text(50).optional(),
  scope: text(2000, 0).optional(),
  state: z.string().max(MAX_STATE_CHARS).optional(),
  resource: text(2048).optional(),
  prompt: text(200).optional(),
  response_mode: text(50).optional(),
  request: z.string().optional(),
  request_uri: z.string().optional(),
});

/** An authorization request that may be answered by a redirect. */
export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  /** As the request had it: the token request must have the same. */
  readonly statedRedirectUri: string | undefined;
  readonly state: string | undefined;
  readonly challenge: string;
  readonly scopes: readonly string[];
  readonly target: Target;
  readonly prompt: ReadonlySet<string>;
}

/** Where an answer goes: to a redirect URI of this client. */
export type Recipient = Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'state'>;

/** Carries an error to the client by redirect (RFC 6749, section 4.1.2.1), with `iss` (RFC 9207). */
export class RedirectedError extends Error {
  readonly to: Recipient;
  readonly failure: { readonly error: string; readonly error_description?: string };
  readonly location: string;
  constructor(platform: Platform, to: Recipient, failure: RedirectedError['failure']) {
    super('the request is answered by a redirect');
    this.to = to;
    this.failure = failure;
    this.location = answerLocation(platform, to, { ...failure });
  }
}

/**
 * Reads and checks an authorization request. An unknown client or redirect URI, or a repeated parameter that names one, is
 * 400 AUTHORIZATION_REQUEST_INVALID for the person, never a redirect; every later problem is a {@link RedirectedError}.
 */
export async function readAuthorizationRequest(
  platform: Platform,
  asked: URLSearchParams,
): Promise<AuthorizationRequest> {
  // Without a value it is as if it were not there (RFC 6749, section 3.1).
  const query = new URLSearchParams([...asked].filter(([, value]) => value !== ''));
  const { client_id, redirect_uri } = readParameters(Addressee, onlyThose(query, ADDRESSEE), refuse);
  const client = await resolveClient(platform, client_id).catch((error: LegateError) => {
    throw refuse(error.message);
  });
  if (!client) throw refuse('There is no client with this client_id.', 'UNKNOWN_CLIENT');
  const redirectUri = registeredUri(client, redirect_uri);
  if (redirectUri === undefined)
    throw refuse('redirect_uri is not registered for this client.', 'UNREGISTERED_REDIRECT_URI');
  const states = query.getAll('state');
  const state = states.length === 1 && (states[0] as string).length <= MAX_STATE_CHARS ? states[0] : undefined;
  const fail = (error: LegateError): never => {
    throw new RedirectedError(platform, { client, redirectUri, state }, oauthFailure(error));
  };
  // Several resources may be asked for (RFC 8707, section 2); a token of ours is for one.
  if (query.getAll('resource').length > 1)
    fail(OAuthErrors.OAUTH_INVALID_TARGET({ message: 'Only one resource can be asked for at a time.' }));
  const p = readParameters(Parameters, query, (message) => fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message })));
  if (p.request !== undefined) fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'request is not supported.' }));
  if (p.request_uri !== undefined)
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'request_uri is not supported.' }));
  if (p.response_type === undefined) fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'response_type is missing.' }));
  if (p.response_type !== 'code') fail(OAuthErrors.OAUTH_UNSUPPORTED_RESPONSE_TYPE());
  if (p.response_mode !== undefined && p.response_mode !== 'query')
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'response_mode must be query.' }));
  if (!client.grantTypes.includes('authorization_code')) fail(OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT());
  if (p.code_challenge === undefined)
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_challenge is missing: PKCE is required.' }));
  if (p.code_challenge_method !== 'S256')
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_challenge_method must be S256.' }));
  const challenge = p.code_challenge as string;
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_challenge must be 43 characters of base64url.' }));
  try {
    return {
      client,
      redirectUri,
      statedRedirectUri: redirect_uri,
      state,
      challenge,
      scopes: askedScopes(platform, p.scope, client),
      target: await targetOf(platform, p.resource),
      prompt: new Set((p.prompt ?? '').split(' ')),
    };
  } catch (error) {
    return fail(error as LegateError);
  }
}

/** `reason`: what a page says to the person instead of the message, which is for the client's developer. */
const refuse = (message: string, reason?: 'UNKNOWN_CLIENT' | 'UNREGISTERED_REDIRECT_URI'): LegateError =>
  ClientErrors.AUTHORIZATION_REQUEST_INVALID({ message, ...(reason ? { details: { reason } } : {}) });

const onlyThose = (query: URLSearchParams, names: ReadonlySet<string>): URLSearchParams =>
  new URLSearchParams([...query].filter(([name]) => names.has(name)));

/** Throws what `refuseWith` makes of a parameter that does not fit the shape or is repeated. Ignores unknown parameters. */
function readParameters<T extends z.ZodObject>(
  shape: T,
  query: URLSearchParams,
  refuseWith: (message: string) => Error,
): z.output<T> {
  const fields: Record<string, string> = {};
  for (const [name, value] of query) {
    if (!Object.hasOwn(shape.shape, name)) continue;
    if (Object.hasOwn(fields, name)) throw refuseWith(`${name} is given more than once.`);
    fields[name] = value;
  }
  try {
    return parseWith(shape, fields);
  } catch (error) {
    const issue = (error as ReturnType<typeof validationFailed>).details?.['issues'] as
      | { path: string; message: string }[]
      | undefined;
    throw refuseWith(`${issue?.[0]?.path ?? 'a parameter'} ${issue?.[0]?.message ?? 'is not valid'}.`);
  }
}

/** The only registered redirect URI may be left out (RFC 6749, section 3.1.2.3). */
function registeredUri(client: Client, asked: string | undefined): string | undefined {
  if (asked === undefined) return client.redirectUris.length === 1 ? client.redirectUris[0] : undefined;
  return client.redirectUris.some((uri) => matchesRedirectUri(uri, asked)) ? asked : undefined;
}

/** Where the browser is sent with the answer. */
export const answerLocation = (
  platform: Platform,
  to: Pick<Recipient, 'redirectUri' | 'state'>,
  answer: Readonly<Record<string, string>>,
): string => withParameters(to.redirectUri, { ...answer, state: to.state, iss: platform.issuer });
