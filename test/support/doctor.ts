import { expect } from 'vitest';
import { examine } from '../../src/cli/doctor/examine.ts';
import type { StepReport } from '../../src/cli/doctor/report.ts';

export const SERVER = 'https://mcp.example.com/mcp';

export const ISSUER = 'https://auth.example.com';

export const CALLBACK = 'http://127.0.0.1:7777/callback';

export const PRM = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** A correct server and issuer; a mutant changes one detail. */
export interface Deployment {
  refusal: Reply;
  prm: Reply;
  issuer: Reply;
  registration: Reply;
  authorize: Reply;
  /** Changes the callback that a person's browser delivers. */
  callback: (parameters: URLSearchParams) => void;
  /** Whether the authorization endpoint requires PKCE, and whether it sends `iss` with a refusal. */
  pkce: { required: boolean; iss: boolean };
  token: Reply;
  initialize: Reply;
  tools: Reply;
  takesForged: boolean;
  takesFromAddress: boolean;
  /** Addresses that do not respond. */
  dead: string[];
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body,
});

export const CHALLENGE = `Bearer scope="mcp:read", resource_metadata="${PRM}"`;

export const deployment = (): Deployment => ({
  refusal: json({ error: 'unauthorized' }, 401, { 'www-authenticate': CHALLENGE }),
  prm: json({
    resource: SERVER,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp:read'],
  }),
  issuer: json({
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    registration_endpoint: `${ISSUER}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  }),
  registration: json({ client_id: 'cli_1', redirect_uris: [CALLBACK] }, 201),
  authorize: { status: 302, headers: { location: `${ISSUER}/login` }, body: '' },
  callback: () => {},
  pkce: { required: true, iss: true },
  token: json(
    {
      access_token: 'aaaaaaaaaaaa.bbbbbbbbbbbb',
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: 'r',
      scope: 'mcp:read',
    },
    200,
    { 'cache-control': 'no-store' },
  ),
  initialize: json(
    {
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
    },
    200,
    {
      'mcp-session-id': 's1',
    },
  ),
  tools: json({ jsonrpc: '2.0', id: 2, result: { tools: [{ name: 'search', inputSchema: {} }] } }),
  takesForged: false,
  takesFromAddress: false,
  dead: [],
});

export const respond = ({ status, headers, body }: Reply): Response =>
  new Response(typeof body === 'string' ? body || null : JSON.stringify(body), { status, headers });

export function fetchOf(w: Deployment): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input));
    const address = url.origin + url.pathname;
    if (w.dead.includes(address)) throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') });
    if (address === PRM) return respond(w.prm);
    if (address === `${ISSUER}/.well-known/oauth-authorization-server`) return respond(w.issuer);
    if (address === `${ISSUER}/register`) return respond(w.registration);
    if (address === `${ISSUER}/authorize`) {
      if (url.searchParams.has('code_challenge') || !w.pkce.required) return respond(w.authorize);
      const back = new URL(CALLBACK);
      back.searchParams.set('error', 'invalid_request');
      if (w.pkce.iss) back.searchParams.set('iss', ISSUER);
      return new Response(null, { status: 302, headers: { location: back.href } });
    }
    if (address === `${ISSUER}/token`) return respond(w.token);
    if (address !== SERVER) return new Response('{}', { status: 404, headers: { 'content-type': 'application/json' } });
    const token =
      new Headers(init?.headers).get('authorization')?.replace('Bearer ', '') ??
      (w.takesFromAddress ? url.searchParams.get('access_token') : null);
    const message = JSON.parse(String(init?.body)) as { method: string };
    if (token === null) return respond(w.refusal);
    if (token.endsWith('AAAAAA') && !w.takesForged) return respond({ ...w.refusal, status: 401 });
    if (message.method === 'initialize') return respond(w.initialize);
    return message.method === 'tools/list' ? respond(w.tools) : new Response(null, { status: 202 });
  };
}

/** Acts as person and browser: delivers the callback to the loopback address. */
export const person = (w: Deployment) => async (address: string) => {
  const asked = new URL(address).searchParams;
  expect(asked.get('code_challenge_method')).toBe('S256');
  const back = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '', iss: ISSUER });
  w.callback(back);
  return back;
};

export const examined = (w: Deployment, more: Partial<Parameters<typeof examine>[0]> = {}): Promise<StepReport[]> =>
  examine({ server: SERVER, fetch: fetchOf(w), redirectUri: CALLBACK, login: person(w), say: () => {}, ...more });

export const outcomes = (reports: readonly StepReport[]): string =>
  reports.map(({ outcome }) => ({ fine: '+', broken: 'x', skipped: '-' })[outcome]).join('');
