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

describe('a call that the token does not cover', () => {
  it.each(['found', 'configured'])('leads to a sign-in with the missing scopes too: %s', async (server) => {
    const begun = server === 'found' ? 'read' : 'mine offline_access';
    reset({ resource: { scopes_supported: ['read'] } });
    const person = await t.user();
    const browser = browserOf(person);
    const connect = async (): Promise<string | null> => {
      const query = await begin(browser, server);
      await browser.get(`/gateway/callback?${new URLSearchParams({ code: 'c', state: query.get('state') as string })}`);
      return query.get('scope');
    };
    expect(await connect()).toBe(begun);
    const as = await t.agent(person, { permissions: [{ resource: `mcp:${server}:*`, actions: ['execute'] }] });
    const search = async (): Promise<Json> => {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'search', arguments: { query: 'x' } },
      };
      return (await t.call('POST', `/gateway/${server}/mcp`, { as, body })).body.result;
    };
    expect((await search()).content[0].text).toBe('found x');
    foreign.refusal = 'Bearer error="insufficient_scope", scope="read write"';
    const refused = await search();
    expect(refused._meta.reason).toBe('NOT_CONNECTED');
    expect(refused.content[0].text).toContain(`does not include this. Ask them to open `);
    expect(refused.content[0].text).toContain(`/gateway/${server}/connect`);
    foreign.refusal = '';
    expect((await search()).content[0].text).toBe('found x');
    const wanted = server === 'found' ? 'read write' : `${begun} read write`;
    expect([await connect(), await connect()]).toEqual([wanted, wanted]);
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
