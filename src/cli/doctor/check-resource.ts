import { type Ask, documentProblem, isObject, type Seen } from './http.ts';
import { parseChallenges } from './parse-challenge.ts';
import { Findings, type StepReport, shown } from './report.ts';

const RFC9728 = 'RFC 9728, section';
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The first message of every client. */
export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'legate-doctor', version: '1' } },
};

export const post = (ask: Ask, url: string, message: unknown, headers: Record<string, string> = {}): Promise<Seen> =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(message),
  });

/** Step 1: a call without a token must be refused with 401. */
export function checkRefusal(answer: Seen): StepReport {
  const f = new Findings();
  if (answer.status >= 200 && answer.status < 300)
    f.broken(
      'status',
      `is ${answer.status}: the server answers without a token, so clients never start a login`,
      'MCP authorization, access token usage',
    );
  else if (answer.status !== 401)
    f.broken('status', `is ${answer.status}, but must be 401`, 'RFC 9110, section 15.5.2');
  return f.report('reach', `POST ${answer.url}: ${answer.status}`);
}

/** Step 2: the WWW-Authenticate header of the 401. `metadata` is the URL of the metadata in it. */
export function checkChallenge(answer: Seen): {
  report: StepReport;
  metadata: string | undefined;
  scope: string | undefined;
} {
  const f = new Findings();
  const header = answer.headers.get('www-authenticate');
  if (header === null) {
    f.broken('WWW-Authenticate', 'is missing, so clients have to guess where the metadata is', `${RFC9728} 5.1`);
    return { report: f.report('challenge', ''), metadata: undefined, scope: undefined };
  }
  const challenges = parseChallenges(header);
  const bearer = challenges.find(({ scheme }) => scheme.toLowerCase() === 'bearer');
  if (!bearer) f.broken('WWW-Authenticate', `has no Bearer challenge: ${shown(header)}`, 'RFC 6750, section 3');
  else if (bearer !== challenges[0])
    f.broken(
      'WWW-Authenticate',
      'does not begin with Bearer; some clients read only the first challenge',
      'RFC 6750, section 3',
    );
  const metadata = bearer?.parameters.get('resource_metadata');
  if (bearer && metadata === undefined) f.broken('resource_metadata', 'is missing', `${RFC9728} 5.1`);
  else if (metadata !== undefined && !isAddress(metadata))
    f.broken('resource_metadata', `is not an absolute URL: ${shown(metadata)}`, `${RFC9728} 5.1`);
  for (const name of bearer?.unquoted ?? []) f.broken(name, 'must be quoted', 'RFC 9110, section 11.2');
  const error = bearer?.parameters.get('error');
  if (error !== undefined) f.advice('error', `is ${shown(error)} although no token was sent`, 'RFC 6750, section 3.1');
  return {
    report: f.report('challenge', header),
    metadata: metadata !== undefined && isAddress(metadata) ? metadata : undefined,
    scope: bearer?.parameters.get('scope'),
  };
}

const isAddress = (text: string): boolean => URL.canParse(text) && /^https?:\/\//i.test(text);
const isLoopback = (url: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);

/** Returns the problem of a URL that clients are sent to, or undefined. */
export function addressProblem(value: unknown): string | undefined {
  if (typeof value !== 'string' || !isAddress(value)) return `is not an absolute URL: ${shown(value)}`;
  const url = new URL(value);
  return url.protocol === 'http:' && !isLoopback(url) ? `is not https: ${shown(value)}` : undefined;
}

export interface Resource {
  readonly resource: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
}

/**
 * Step 3: reads the metadata of the resource (RFC 9728) from the URL in the challenge, or where clients look by
 * default.
 */
export async function checkResourceMetadata(
  ask: Ask,
  server: string,
  named: string | undefined,
): Promise<{ report: StepReport; found: Resource | undefined }> {
  const f = new Findings();
  const { origin, pathname, search } = new URL(server);
  const inserted = origin + WELL_KNOWN + (pathname === '/' ? '' : pathname) + search;
  let answer: Seen | undefined;
  for (const address of named === undefined ? [...new Set([inserted, origin + WELL_KNOWN])] : [named]) {
    answer = await ask(address);
    if (answer.status === 200) break;
  }
  const { json, url } = answer as Seen;
  const problem = documentProblem(answer as Seen);
  if (problem || !isObject(json)) {
    f.broken(problem?.field ?? 'body', `${problem?.problem ?? 'is not a JSON object'} (${url})`, `${RFC9728} 3.2`);
    return { report: f.report('resource metadata', url), found: undefined };
  }
  const {
    resource,
    authorization_servers: servers,
    bearer_methods_supported: methods,
    scopes_supported: scopes,
  } = json;
  if (resource !== server) {
    const onlySlash = typeof resource === 'string' && resource.replace(/\/$/, '') === server.replace(/\/$/, '');
    const strict = onlySlash ? '; strict clients refuse even a different trailing slash' : '';
    f.broken('resource', `is ${shown(resource)}, but must be ${shown(server)}${strict}`, `${RFC9728} 3.3`);
  }
  const issuer = Array.isArray(servers) ? servers[0] : undefined;
  if (issuer === undefined)
    f.broken(
      'authorization_servers',
      `is ${shown(servers)}, but must contain at least one`,
      'MCP authorization, authorization server location',
    );
  else if (addressProblem(issuer)) f.broken('authorization_servers', addressProblem(issuer) as string, `${RFC9728} 2`);
  if (methods !== undefined && !(Array.isArray(methods) && methods.includes('header')))
    f.broken('bearer_methods_supported', `is ${shown(methods)}, but must contain "header"`, `${RFC9728} 2`);
  if (scopes !== undefined && !isTexts(scopes))
    f.broken('scopes_supported', `is ${shown(scopes)}, but must be an array of strings`, `${RFC9728} 2`);
  if (isTexts(scopes) && scopes.includes('offline_access'))
    f.advice(
      'scopes_supported',
      'contains offline_access, which belongs to the issuer, not to a resource',
      'MCP authorization 2026-07-28, refresh tokens',
    );
  if (scopes === undefined)
    f.advice('scopes_supported', 'is missing, so clients do not know which scopes to request', `${RFC9728} 2`);
  const found =
    typeof issuer === 'string' && !addressProblem(issuer)
      ? { resource: typeof resource === 'string' ? resource : server, issuer, scopes: isTexts(scopes) ? scopes : [] }
      : undefined;
  return { report: f.report('resource metadata', url), found };
}

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
