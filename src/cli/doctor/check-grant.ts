import { createHash, randomBytes } from 'node:crypto';
import type { Issuer } from './check-issuer.ts';
import { INITIALIZE, post, type Resource } from './check-resource.ts';
import { type Ask, isObject, type Seen } from './http.ts';
import { parseChallenges } from './parse-challenge.ts';
import { Findings, type StepReport, shown } from './report.ts';

/** An authorization request in progress. */
export interface Attempt {
  readonly url: string;
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly clientId: string;
}

/** Creates an authorization request (RFC 6749, section 4.1.1) with PKCE (RFC 7636) and the resource (RFC 8707). */
export function newAttempt(
  issuer: Issuer,
  resource: Resource,
  scope: string | undefined,
  clientId: string,
  redirectUri: string,
): Attempt {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const url = new URL(issuer.authorize);
  const parameters: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: resource.resource,
    scope: scope ?? (resource.scopes.join(' ') || undefined),
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return { url: url.href, state, verifier, redirectUri, clientId };
}

/** Step 6, before the login: the endpoint accepts the request, and refuses one without PKCE. */
export async function checkAuthorize(ask: Ask, issuer: Issuer, attempt: Attempt): Promise<Findings> {
  const f = new Findings();
  const answer = await ask(attempt.url, { headers: { accept: 'text/html' } });
  const location = answer.headers.get('location');
  if (answer.status === 307 || answer.status === 308)
    f.broken(
      'status',
      `is ${answer.status}, so a browser would forward the login form to the redirect target`,
      'RFC 9700, section 4.12',
    );
  if (answer.status >= 400 || (answer.status >= 300 && location === null))
    f.broken('authorization_endpoint', `answers ${answer.status} to a valid request`, 'RFC 6749, section 4.1.1');
  const refused = location === null ? undefined : errorIn(location, attempt.redirectUri);
  if (refused)
    f.broken(
      'authorization_endpoint',
      `refuses a valid request: ${shown(refused.get('error'))} ${shown(refused.get('error_description'))}`,
      'RFC 6749, section 4.1.2.1',
    );

  const plain = new URL(attempt.url);
  plain.searchParams.delete('code_challenge');
  plain.searchParams.delete('code_challenge_method');
  const without = await ask(plain.href, { headers: { accept: 'text/html' } });
  const led = without.headers.get('location');
  const isRefused = without.status >= 400 || (led !== null && errorIn(led, attempt.redirectUri) !== undefined);
  if (!isRefused)
    f.broken(
      'code_challenge',
      'is not required',
      'OAuth 2.1, section 7.5; MCP authorization, authorization code protection',
    );
  else if (issuer.sendsIss && led !== null && errorIn(led, attempt.redirectUri)?.get('iss') !== issuer.issuer)
    f.broken('iss', 'is missing in an error response, although the metadata announces it', 'RFC 9207, section 2');
  return f;
}

function errorIn(location: string, redirectUri: string): URLSearchParams | undefined {
  if (!URL.canParse(location) || !location.startsWith(redirectUri)) return undefined;
  const { searchParams } = new URL(location);
  return searchParams.has('error') ? searchParams : undefined;
}

/** Step 6, after the login: the parameters at the redirect URI. */
export function checkCallback(
  f: Findings,
  issuer: Issuer,
  attempt: Attempt,
  callback: URLSearchParams,
): string | undefined {
  const error = callback.get('error');
  if (error !== null)
    f.broken(
      'error',
      `is ${shown(error)} ${shown(callback.get('error_description') ?? '')}`,
      'RFC 6749, section 4.1.2.1',
    );
  if (callback.get('state') !== attempt.state)
    f.broken(
      'state',
      `is ${shown(callback.get('state') ?? undefined)}, but must be the value that was sent`,
      'RFC 6749, section 4.1.2',
    );
  const iss = callback.get('iss');
  if (issuer.sendsIss ? iss !== issuer.issuer : iss !== null && iss !== issuer.issuer)
    f.broken('iss', `is ${shown(iss ?? undefined)}, but must be ${shown(issuer.issuer)}`, 'RFC 9207, section 2');
  const code = callback.get('code');
  if (code === null && error === null) f.broken('code', 'is missing', 'RFC 6749, section 4.1.2');
  return code ?? undefined;
}

/** Step 7: exchanges the code (RFC 6749, sections 4.1.3 and 5.1). */
export async function checkToken(
  ask: Ask,
  issuer: Issuer,
  resource: Resource,
  attempt: Attempt,
  code: string,
  secret: string | undefined,
): Promise<{ report: StepReport; token: string | undefined }> {
  const f = new Findings();
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: attempt.redirectUri,
    client_id: attempt.clientId,
    code_verifier: attempt.verifier,
    resource: resource.resource,
    ...(secret === undefined ? {} : { client_secret: secret }),
  });
  const answer = await ask(issuer.token, { method: 'POST', headers: { accept: 'application/json' }, body: form });
  const json = isObject(answer.json) ? answer.json : undefined;
  if (answer.status !== 200)
    f.broken(
      'status',
      `is ${answer.status} (${shown(json?.['error'])}: ${shown(json?.['error_description'])}), but must be 200`,
      'RFC 6749, section 5.1',
    );
  else if (!json) f.broken('body', 'is not a JSON object', 'RFC 6749, section 5.1');
  const token = json?.['access_token'];
  if (json && answer.status === 200) {
    if (typeof token !== 'string' || token === '')
      f.broken(
        'access_token',
        `is ${token === undefined ? 'missing' : 'not a non-empty string'}`,
        'RFC 6749, section 5.1',
      );
    if (typeof json['token_type'] !== 'string' || json['token_type'].toLowerCase() !== 'bearer')
      f.broken('token_type', `is ${shown(json['token_type'])}, but must be "Bearer"`, 'RFC 6750, section 4');
    if (json['expires_in'] !== undefined && typeof json['expires_in'] !== 'number')
      f.broken('expires_in', `is ${shown(json['expires_in'])}, but must be a number`, 'RFC 6749, section 5.1');
    if (json['refresh_token'] === undefined)
      f.advice(
        'refresh_token',
        'is missing, so people have to log in again when the token expires',
        'RFC 6749, section 1.5',
      );
  }
  if (!/no-store/i.test(answer.headers.get('cache-control') ?? ''))
    f.broken(
      'Cache-Control',
      `is ${shown(answer.headers.get('cache-control') ?? undefined)}, but must be no-store`,
      'RFC 6749, section 5.1',
    );
  return {
    report: f.report('token', `POST ${issuer.token}: ${answer.status}`),
    token: typeof token === 'string' && token !== '' ? token : undefined,
  };
}

/** Step 8: repeats the first call with the token, lists the tools, and checks that other tokens are refused. */
export async function checkCall(ask: Ask, server: string, token: string): Promise<StepReport> {
  const f = new Findings();
  const authorization = `Bearer ${token}`;
  const answer = await post(ask, server, INITIALIZE, { authorization });
  const result = isObject(answer.json) ? answer.json['result'] : undefined;
  if (answer.status !== 200)
    f.broken('status', `is ${answer.status}, but must be 200${reasonOf(answer)}`, 'MCP authorization, token handling');
  else if (!isObject(result)) f.broken('result', 'is missing in the answer to initialize', 'MCP lifecycle');
  const version = isObject(result) ? result['protocolVersion'] : undefined;
  if (isObject(result) && typeof version !== 'string')
    f.broken('protocolVersion', `is ${shown(version)}, but must be a string`, 'MCP lifecycle');
  let tools: unknown;
  if (!f.isBroken) {
    const session = answer.headers.get('mcp-session-id');
    const headers = {
      authorization,
      'mcp-protocol-version': version as string,
      ...(session === null ? {} : { 'mcp-session-id': session }),
    };
    await post(ask, server, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
    const listed = await post(ask, server, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers);
    const list = isObject(listed.json) ? listed.json['result'] : undefined;
    tools = isObject(list) ? list['tools'] : undefined;
    if (listed.status !== 200)
      f.broken(
        'tools/list',
        `is answered with ${listed.status}${reasonOf(listed)}`,
        'MCP authorization, token handling',
      );
    else if (!Array.isArray(tools)) f.advice('tools/list', 'returns no tools', 'MCP tools');
    const forged = await post(ask, server, INITIALIZE, { authorization: `Bearer ${token.slice(0, -6)}AAAAAA` });
    if (forged.status !== 401)
      f.broken(
        'access token',
        `a modified token is answered with ${forged.status}, but must be refused with 401`,
        'MCP authorization, token handling',
      );
    const inAddress = new URL(server);
    inAddress.searchParams.set('access_token', token);
    if ((await post(ask, inAddress.href, INITIALIZE)).status === 200)
      f.broken('access_token', 'is accepted in the URL', 'MCP authorization, access token usage');
  }
  return f.report(
    'call',
    Array.isArray(tools)
      ? `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`
      : `POST ${server}: ${answer.status}`,
  );
}

/** Returns the error in the challenge of a refusal. */
function reasonOf({ headers }: Seen): string {
  const parameters = parseChallenges(headers.get('www-authenticate') ?? '')[0]?.parameters;
  const said = ['error', 'error_description', 'scope']
    .map((name) => parameters?.get(name))
    .filter((value) => value !== undefined);
  return said.length > 0 ? ` (${said.join('; ')})` : '';
}
