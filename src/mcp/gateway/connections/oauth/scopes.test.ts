import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../../test/support/browser-like.ts';
import { listenerOf, loopbackServers } from '../../../../../test/support/loopback.ts';
import { webAnswer } from '../../../../../test/support/mcp.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../../test/support/service.ts';

const { listening, closeAll } = loopbackServers();

/** A foreign MCP server with its own authorization server, which each test changes. */
const foreign = { base: '', resource: {} as Json, metadata: {} as Json, challenge: '', refusal: '' };

let t: TestService;

beforeAll(async () => {
  const at = await listening();
  foreign.base = at.base;
  at.handle(listenerOf(answer));
  const auth = { type: 'oauth' as const, clientId: 'us' };
  const [url, pin] = [`${at.base}/mcp`, 'off' as const];
  t = await createTestService({
    lasting: true,
    config: {
      gateway: {
        servers: {
          found: { url, legate: { auth, pin } },
          configured: { url, legate: { auth: { ...auth, scopes: ['mine', 'offline_access'] }, pin } },
        },
      },
    },
  });
});
afterAll(closeAll);

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const { base } = foreign;
  if (pathname.startsWith('/.well-known/oauth-protected-resource'))
    return Response.json({ resource: `${base}/mcp`, authorization_servers: [base], ...foreign.resource });
  if (pathname === '/.well-known/oauth-authorization-server')
    return Response.json({
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      code_challenge_methods_supported: ['S256'],
      ...foreign.metadata,
    });
  if (pathname === '/token') return Response.json({ access_token: 'good', token_type: 'Bearer' });
  if (request.headers.get('authorization') !== 'Bearer good')
    return new Response(null, { status: 401, headers: { 'www-authenticate': foreign.challenge } });
  if (foreign.refusal === '') return webAnswer(request, undefined, true);
  return Response.json(
    { error: 'insufficient_scope' },
    { status: 403, headers: { 'www-authenticate': foreign.refusal } },
  );
}

const reset = (more: Partial<typeof foreign>): void => {
  Object.assign(foreign, { resource: {}, metadata: {}, challenge: 'Bearer', refusal: '' }, more);
};
const browserOf = (person: TestUser) => new FormClient(t, { authorization: `Bearer ${person.token}` });
async function begin(browser: FormClient, server: string): Promise<URLSearchParams> {
  const page = await browser.post(`/gateway/${server}/connect`, { action: 'connect' });
  const href = /class="button" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? page.text;
  return new URL(href).searchParams;
}
async function requested(server: string): Promise<(string | null)[]> {
  const query = await begin(browserOf(await t.user()), server);
  return [query.get('scope'), query.get('prompt')];
}

describe('a sign-in at a server [MCP 2025-11-25, scope selection]', () => {
  it('requests the scopes of the challenge, otherwise those of the resource metadata', async () => {
    reset({});
    expect(await requested('found')).toEqual([null, null]);
    reset({ resource: { scopes_supported: ['read', 'write', 'not valid'] } });
    expect(await requested('found')).toEqual(['read write', null]);
    reset({ resource: { scopes_supported: ['read', 'write'] }, challenge: 'Bearer scope="read", realm="x"' });
    expect(await requested('found')).toEqual(['read', null]);
  });

  it('requests the configured scopes only', async () => {
    reset({ resource: { scopes_supported: ['read'] }, challenge: 'Bearer scope="read"' });
    expect(await requested('configured')).toEqual(['mine offline_access', 'consent']);
  });

  it('requests a refresh token with consent where the authorization server needs that', async () => {
    reset({ resource: { scopes_supported: ['read'] }, metadata: { scopes_supported: ['read', 'offline_access'] } });
    expect(await requested('found')).toEqual(['read offline_access', 'consent']);
  });
});

it('metadata may name the issuer without the slash that some servers put after an origin', async () => {
  const { base } = foreign;
  reset({ resource: { authorization_servers: [`${base}/`] } });
  const browser = browserOf(await t.user());
  const state = (await begin(browser, 'found')).get('state') as string;
  const done = await browser.get(`/gateway/callback?${new URLSearchParams({ code: 'c', state, iss: base })}`);
  expect(done.headers.get('location')).toBe('/gateway/found/connect?done=connected');
  reset({ metadata: { issuer: `${base}/` } });
  expect((await browser.post('/gateway/found/connect', { action: 'connect' })).status).toBe(502);
});
