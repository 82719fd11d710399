import type { Platform } from '../../../../platform.ts';
import type { UpstreamClient } from './client.ts';
import { fetchUpstream } from './upstream-fetch.ts';

/** Data of a connection's authorization server, and the person's tokens. */
export interface OAuthCredentials extends UpstreamClient {
  readonly type: 'oauth';
  /** The address to which the tokens may be sent. */
  readonly server: string;
  readonly issuer: string;
  readonly resource: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string | undefined;
  readonly secretInBody?: boolean | undefined;
  /** Scopes that calls have lacked, which the next sign-in requests too. */
  readonly moreScopes?: readonly string[] | undefined;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

export type TokenSource = Omit<OAuthCredentials, 'accessToken' | 'refreshToken' | 'expiresAt'>;

/** Errors of a grant that is not valid. The second one is GitHub's, with status 200; others answer 400, 401 or 403. */
const GRANT_ERRORS: ReadonlySet<unknown> = new Set(['invalid_grant', 'bad_refresh_token']);

/** The authorization server refused the grant, so the connection has ended. */
export class GrantEnded extends Error {}

/** The authorization server does not know the client (RFC 6749, section 5.2). */
export class ClientUnknown extends Error {}

/** The client authentication of a request to the token or revocation endpoint (RFC 6749, section 2.3). */
function withClient(
  { clientId, clientSecret, secretInBody }: TokenSource,
  form: URLSearchParams,
): Readonly<Record<string, string>> {
  if (clientSecret !== undefined && !secretInBody) {
    const pair = [clientId, clientSecret].map((part) => new URLSearchParams({ '': part }).toString().slice(1));
    return { authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}` };
  }
  form.set('client_id', clientId);
  if (clientSecret !== undefined) form.set('client_secret', clientSecret);
  return {};
}

/**
 * Sends a request to the token endpoint. Throws {@link GrantEnded} if the answer is that the grant is not valid, and
 * {@link ClientUnknown} if the client is not.
 */
export async function askForTokens(
  platform: Pick<Platform, 'clock' | 'stateOf'>,
  source: TokenSource,
  grant: Readonly<Record<string, string>>,
): Promise<OAuthCredentials> {
  const form = new URLSearchParams({ ...grant, resource: source.resource });
  const headers = withClient(source, form);
  const request = { server: source.server, url: source.tokenEndpoint, form };
  const { status, json } = await fetchUpstream(platform, request, headers);
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, token_type } = json ?? {};
  const error = status < 500 ? json?.['error'] : undefined;
  if (GRANT_ERRORS.has(error)) throw new GrantEnded('the grant is not valid');
  if (error === 'invalid_client') throw new ClientUnknown('the authorization server does not know the client');
  if (status !== 200 || typeof accessToken !== 'string' || !/^[\x21-\x7e]+$/.test(accessToken))
    throw new Error(`the token endpoint answered with status ${status}`);
  if (String(token_type).toLowerCase() !== 'bearer') throw new Error('the token is not a Bearer token');
  return {
    ...source,
    type: 'oauth',
    accessToken,
    refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined,
    expiresAt: typeof expiresIn === 'number' ? platform.clock.now() + expiresIn * 1000 : undefined,
  };
}

/** Keeps the previous refresh token if the answer has no new one (RFC 6749, section 6). */
export async function refreshTokens(
  platform: Pick<Platform, 'clock' | 'stateOf'>,
  before: OAuthCredentials,
): Promise<OAuthCredentials> {
  const { refreshToken } = before;
  if (refreshToken === undefined) throw new GrantEnded('there is no refresh token');
  const { accessToken: _access, refreshToken: _refresh, expiresAt: _expires, ...source } = before;
  const after = await askForTokens(platform, source, { grant_type: 'refresh_token', refresh_token: refreshToken });
  return { ...after, refreshToken: after.refreshToken ?? refreshToken };
}

/**
 * Ends the grant at the authorization server if that supports revocation (RFC 7009). Sends both tokens, and then throws
 * the first failure.
 */
export async function revokeTokens(platform: Pick<Platform, 'stateOf'>, credentials: OAuthCredentials): Promise<void> {
  const { revocationEndpoint: url, refreshToken, accessToken, server } = credentials;
  if (url === undefined) return;
  const revoke = async (hint: string, token: string | undefined): Promise<void> => {
    if (token === undefined) return;
    const form = new URLSearchParams({ token, token_type_hint: hint });
    const headers = withClient(credentials, form);
    await fetchUpstream(platform, { server, url, form }, headers);
  };
  // At the same time, because a server that does not answer delays a stop of the service until the timeout.
  const sent = await Promise.allSettled([revoke('refresh_token', refreshToken), revoke('access_token', accessToken)]);
  for (const one of sent) if (one.status === 'rejected') throw one.reason;
}
