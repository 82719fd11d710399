import { z } from 'zod';
import { LegateError, type validationFailed } from '../../kernel/errors.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { parseWith, text } from '../../kernel/json.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Platform } from '../../platform.ts';
import type { Client } from '../clients/client.ts';
import { matchesRedirectUri, withParameters } from '../clients/redirect-uri.ts';
import { resolveClient } from '../clients/resolve-client.ts';
import { ClientErrors, OAuthErrors, oauthErrorBody } from '../errors.ts';
import { getTarget, type Target } from '../resource.ts';
import { requestedScopes } from '../scope.ts';

const MAX_STATE_CHARS = 4096;

/** Parameters that are checked first: errors in them are never redirected. */
const ClientParameters = z.object({ client_id: idOf('client', text(2048)), redirect_uri: text(2048).optional() });
const CLIENT_PARAMETERS: ReadonlySet<string> = new Set(Object.keys(ClientParameters.shape));
/** The other parameters of OAuth 2.1, section 4.1.1. Unknown ones are ignored. */
const RequestParameters = z.object({
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

/** A valid authorization request. */
export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  /** The redirect_uri of the request, which the token request must repeat. */
  readonly statedRedirectUri: string | undefined;
  readonly state: string | undefined;
  readonly challenge: string;
  readonly scopes: readonly string[];
  readonly target: Target;
  readonly prompt: ReadonlySet<string>;
}

/** A client and its redirect URI to which a response goes. */
export type Recipient = Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'state'>;

/** Carries an error to the client by redirect (RFC 6749, section 4.1.2.1), with `iss` (RFC 9207). */
export class RedirectedError extends Error {
  readonly to: Recipient;
  readonly failure: { readonly error: string; readonly error_description?: string };
  readonly location: string;
  constructor(platform: Pick<Platform, 'issuer'>, to: Recipient, failure: RedirectedError['failure']) {
    super('the error is returned by redirect');
    this.to = to;
    this.failure = failure;
    this.location = authorizationResponseUrl(platform, to, { ...failure });
  }
}

/**
 * Reads and validates an authorization request. Throws 400 AUTHORIZATION_REQUEST_INVALID, which is never redirected, if
 * client_id or redirect_uri is unknown or repeated; throws a {@link RedirectedError} for every other problem.
 */
export async function readAuthorizationRequest(
  platform: Platform,
  parameters: URLSearchParams,
): Promise<AuthorizationRequest> {
  // Parameters without a value count as omitted (RFC 6749, section 3.1).
  const query = new URLSearchParams([...parameters].filter(([, value]) => value !== ''));
  const { client_id, redirect_uri } = readParameters(
    ClientParameters,
    pickParameters(query, CLIENT_PARAMETERS),
    invalidRequest,
  );
  const client = await resolveClient(platform, client_id).catch((error: unknown) => {
    if (!(error instanceof LegateError)) throw error;
    throw error.code === OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE.code
      ? ClientErrors.AUTHORIZATION_REQUEST_INVALID({ message: error.message, details: { reason: 'UNREADABLE_CLIENT' } })
      : invalidRequest(error.message);
  });
  if (!client) throw unknown(client_id, 'There is no client with this client_id.', 'UNKNOWN_CLIENT', 'client-unknown');
  const redirectUri = findRedirectUri(client, redirect_uri);
  if (redirectUri === undefined)
    throw unknown(
      client_id,
      'redirect_uri is not registered for this client.',
      'UNREGISTERED_REDIRECT_URI',
      'redirect-uri-unregistered',
    );
  const states = query.getAll('state');
  const state = states.length === 1 && (states[0] as string).length <= MAX_STATE_CHARS ? states[0] : undefined;
  const fail = (error: LegateError): never => {
    throw new RedirectedError(platform, { client, redirectUri, state }, oauthErrorBody(error));
  };
  // RFC 8707, section 2, allows several resources, but an access token of this service is for exactly one.
  if (query.getAll('resource').length > 1)
    fail(OAuthErrors.OAUTH_INVALID_TARGET({ message: 'Only one resource can be requested at a time.' }));
  const p = readParameters(RequestParameters, query, (message) => fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message })));
  if (p.request !== undefined) fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'request is not supported.' }));
  if (p.request_uri !== undefined)
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'request_uri is not supported.' }));
  if (p.response_type === undefined) fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'response_type is missing.' }));
  if (p.response_type !== 'code') fail(OAuthErrors.OAUTH_UNSUPPORTED_RESPONSE_TYPE());
  if (p.response_mode !== undefined && p.response_mode !== 'query')
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'response_mode must be query.' }));
  if (!client.grantTypes.includes('authorization_code')) fail(OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT());
  if (p.code_challenge === undefined)
    fail(OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_challenge is missing; PKCE is required.' }));
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
      scopes: requestedScopes(platform, p.scope, client),
      target: await getTarget(platform, p.resource),
      prompt: new Set((p.prompt ?? '').split(' ')),
    };
  } catch (error) {
    if (error instanceof LegateError) return fail(error);
    throw error;
  }
}

/** `reason` selects the text that a page shows to the person; the message is for the client's developer. */
const invalidRequest = (message: string): LegateError => ClientErrors.AUTHORIZATION_REQUEST_INVALID({ message });

const unknown = (
  clientId: string,
  message: string,
  shown: 'UNKNOWN_CLIENT' | 'UNREGISTERED_REDIRECT_URI',
  reason: RefusalReason,
): LegateError =>
  ClientErrors.AUTHORIZATION_REQUEST_INVALID({ message, details: { reason: shown }, reason, context: { clientId } });

const pickParameters = (query: URLSearchParams, names: ReadonlySet<string>): URLSearchParams =>
  new URLSearchParams([...query].filter(([name]) => names.has(name)));

/** Throws the error of `toError` if a parameter is invalid or repeated. Ignores unknown parameters. */
function readParameters<T extends z.ZodObject>(
  shape: T,
  query: URLSearchParams,
  toError: (message: string) => Error,
): z.output<T> {
  const fields: Record<string, string> = {};
  for (const [name, value] of query) {
    if (!Object.hasOwn(shape.shape, name)) continue;
    if (Object.hasOwn(fields, name)) throw toError(`${name} appears more than once.`);
    fields[name] = value;
  }
  try {
    return parseWith(shape, fields);
  } catch (error) {
    const issue = (error as ReturnType<typeof validationFailed>).details?.['issues'] as
      | { path: string; message: string }[]
      | undefined;
    throw toError(`${issue?.[0]?.path ?? 'a parameter'} ${issue?.[0]?.message ?? 'is not valid'}.`);
  }
}

/** A client with one registered redirect URI may omit it (RFC 6749, section 3.1.2.3). */
function findRedirectUri(client: Client, requested: string | undefined): string | undefined {
  if (requested === undefined) return client.redirectUris.length === 1 ? client.redirectUris[0] : undefined;
  return client.redirectUris.some((uri) => matchesRedirectUri(uri, requested)) ? requested : undefined;
}

/** Returns the redirect URI with the parameters of the response, `state` and `iss` (RFC 9207). */
export const authorizationResponseUrl = (
  { issuer }: Pick<Platform, 'issuer'>,
  to: Pick<Recipient, 'redirectUri' | 'state'>,
  response: Readonly<Record<string, string>>,
): string => withParameters(to.redirectUri, { ...response, state: to.state, iss: issuer });
