import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FormClient } from '../../../../../test/support/browser-like.ts';
import { listenerOf, loopbackServers } from '../../../../../test/support/loopback.ts';
import { webAnswer } from '../../../../../test/support/mcp.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../../test/support/service.ts';

const { listening, closeAll } = loopbackServers();

/** A foreign MCP server with its own authorization server, which each test changes. */
const foreign = {
  base: '',
  resource: {} as Json,
  metadata: {} as Json,
  challenge: '',
  refusal: '',
  /** The clients that the authorization server has registered and not forgotten. */
  clients: new Set(['us']),
  tokens: {} as Json,
  /** The answer to a grant that is not valid. */
  refusedWith: [400, 'invalid_grant'] as [number, string],
};

let t: TestService;
const warn = vi.fn();

beforeAll(async () => {
  const at = await listening();
  foreign.base = at.base;
  at.handle(listenerOf(answer));
  const auth = { type: 'oauth' as const, clientId: 'us' };
  const [url, pin] = [`${at.base}/mcp`, 'off' as const];
  t = await createTestService({
    lasting: true,
    log: { debug: () => {}, info: () => {}, warn, error: () => {} },
    config: {
      gateway: {
        servers: {
          found: { url, legate: { auth, pin } },
          registered: { url, legate: { auth: { type: 'oauth' }, pin } },
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
  if (pathname === '/register') {
    const client_id = `client-${foreign.clients.size}`;
    foreign.clients.add(client_id);
    return Response.json({ client_id }, { status: 201 });
  }
  if (pathname === '/token') {
    const form = new URLSearchParams(await request.text());
    if (!foreign.clients.has(form.get('client_id') as string))
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    if (form.get('code') !== 'c')
      return Response.json({ error: foreign.refusedWith[1] }, { status: foreign.refusedWith[0] });
    return Response.json({ access_token: 'good', token_type: 'Bearer', ...foreign.tokens });
  }
  if (request.headers.get('authorization') !== 'Bearer good')
    return new Response(null, { status: 401, headers: { 'www-authenticate': foreign.challenge } });
  if (foreign.refusal === '') return webAnswer(request, undefined, true);
  return Response.json(
    { error: 'insufficient_scope' },
    { status: 403, headers: { 'www-authenticate': foreign.refusal } },
  );
}

const reset = (more: Partial<typeof foreign>): void => {
  Object.assign(
    foreign,
    { resource: {}, metadata: {}, challenge: 'Bearer', refusal: '', tokens: {}, refusedWith: [400, 'invalid_grant'] },
    more,
  );
};
const browserOf = (person: TestUser) => new FormClient(t, { authorization: `Bearer ${person.token}` });
async function begin(browser: FormClient, server: string): Promise<URLSearchParams> {
  const page = await browser.post(`/gateway/${server}/connect`, { action: 'connect' });
  const href = /class="button" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? page.text;
  return new URL(href).searchParams;
}
async function connect(browser: FormClient, server: string): Promise<URLSearchParams> {
  const query = await begin(browser, server);
  const answer = { code: 'c', state: query.get('state') as string, iss: foreign.base };
  const done = await browser.get(`/gateway/callback?${new URLSearchParams(answer)}`);
  expect(done.headers.get('location')).toBe(`/gateway/${server}/connect?done=connected`);
  return query;
}
async function search(as: { token: string }, server: string): Promise<Json> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: { query: 'x' } } };
  return (await t.call('POST', `/gateway/${server}/mcp`, { as, body })).body.result;
}
const agentFor = (person: TestUser, server: string) =>
  t.agent(person, { permissions: [{ resource: `mcp:${server}:*`, actions: ['execute'] }] });
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
  it('leads to a sign-in with the missing scopes too', async () => {
    reset({ resource: { scopes_supported: ['read'] } });
    const person = await t.user();
    const browser = browserOf(person);
    const scopes = async () => (await connect(browser, 'found')).get('scope');
    expect(await scopes()).toBe('read');
    const as = await agentFor(person, 'found');
    expect((await search(as, 'found')).content[0].text).toBe('found x');
    foreign.refusal = 'Bearer error="insufficient_scope", scope="read write"';
    const refused = await search(as, 'found');
    expect(refused._meta.reason).toBe('NOT_CONNECTED');
    expect(refused.content[0].text).toContain(`does not include this. Ask them to open `);
    expect(refused.content[0].text).toContain('/gateway/found/connect');
    foreign.refusal = '';
    expect((await search(as, 'found')).content[0].text).toBe('found x');
    expect([await scopes(), await scopes()]).toEqual(['read write', 'read write']);
  });

  it('does not add to the scopes that the operator has set', async () => {
    reset({ resource: { scopes_supported: ['read'] } });
    const person = await t.user();
    const browser = browserOf(person);
    const scopes = async () => (await connect(browser, 'configured')).get('scope');
    expect(await scopes()).toBe('mine offline_access');
    foreign.refusal = 'Bearer error="insufficient_scope", scope="read write"';
    const refused = await search(await agentFor(person, 'configured'), 'configured');
    expect(refused._meta.reason).toBe('NOT_CONNECTED');
    expect(refused.content[0].text).toContain('requires a scope that is not requested for anyone (read write)');
    foreign.refusal = '';
    expect(await scopes()).toBe('mine offline_access');
  });
});

describe('an authorization server that has forgotten this service', () => {
  it('is registered at again after a sign-in that did not come back', async () => {
    reset({ metadata: { registration_endpoint: `${foreign.base}/register` } });
    const browser = browserOf(await t.user());
    const client = async () => (await begin(browser, 'registered')).get('client_id');
    const first = (await client()) as string;
    expect([await client(), await client()]).toEqual([first, first]);
    foreign.clients.delete(first);
    foreign.clients.add('another');
    const second = await client();
    expect([second === first, foreign.clients.has(second as string)]).toEqual([false, true]);
    expect((await connect(browser, 'registered')).get('client_id')).toBe(second);
  });

  it('ends connections that it refuses to renew, and is registered at again', async () => {
    reset({
      metadata: { registration_endpoint: `${foreign.base}/register` },
      tokens: { expires_in: 60, refresh_token: 'again' },
    });
    const [person, other] = [await t.user(), await t.user()];
    const first = (await connect(browserOf(person), 'registered')).get('client_id') as string;
    await connect(browserOf(other), 'registered');
    foreign.clients.delete(first);
    foreign.clients.add('one more');
    t.clock.advance(61_000);
    for (const one of [person, other])
      expect((await search(await agentFor(one, 'registered'), 'registered'))._meta.reason).toBe('NOT_CONNECTED');
    expect((await connect(browserOf(person), 'registered')).get('client_id')).not.toBe(first);
  });

  it('does not end connections with a configured client', async () => {
    reset({ tokens: { expires_in: 60, refresh_token: 'again' } });
    const person = await t.user();
    await connect(browserOf(person), 'configured');
    foreign.clients.delete('us');
    t.clock.advance(61_000);
    const { _meta } = await search(await agentFor(person, 'configured'), 'configured');
    foreign.clients.add('us');
    expect(_meta.reason).toBe('SERVER_UNAVAILABLE');
    expect((await t.call('GET', '/gateway/connections', { as: person })).body).toMatchObject([
      { name: 'found' },
      { name: 'registered' },
      { name: 'configured', connected: true },
    ]);
  });
});

it.each([
  [400, 'invalid_grant'],
  [401, 'invalid_grant'],
  [403, 'invalid_grant'],
  [200, 'bad_refresh_token'],
])('a renewal that is refused with %i and %s ends the connection', async (status, error) => {
  reset({ tokens: { expires_in: 60, refresh_token: 'again' }, refusedWith: [status, error] });
  const person = await t.user();
  await connect(browserOf(person), 'found');
  t.clock.advance(61_000);
  expect((await search(await agentFor(person, 'found'), 'found'))._meta.reason).toBe('NOT_CONNECTED');
});

it('metadata may name the issuer without the slash that some servers put after an origin', async () => {
  const { base } = foreign;
  reset({ resource: { authorization_servers: [`${base}/`] } });
  const browser = browserOf(await t.user());
  await connect(browser, 'found');
  reset({ metadata: { issuer: `${base}/` } });
  expect((await browser.post('/gateway/found/connect', { action: 'connect' })).status).toBe(502);
});

it('the log has the reason of an authorization server that refuses a sign-in', async () => {
  reset({});
  const browser = browserOf(await t.user());
  const state = (await begin(browser, 'found')).get('state') as string;
  const answer = {
    state,
    iss: foreign.base,
    error: 'invalid_scope',
    error_description: `no such scope${'!'.repeat(2000)}`,
  };
  const done = await browser.get(`/gateway/callback?${new URLSearchParams(answer)}`);
  expect(done.headers.get('location')).toBe('/gateway/found/connect?done=refused');
  expect(warn).toHaveBeenLastCalledWith(
    { server: 'found', problem: `${foreign.base} answered invalid_scope: no such scope${'!'.repeat(287)}` },
    'A sign-in at a server behind the gateway was refused',
  );
});

it('two sign-ins that one browser has begun both end, and then the browser forgets its secret', async () => {
  reset({});
  const browser = browserOf(await t.user());
  const begun = [await begin(browser, 'found'), await begin(browser, 'configured')];
  const back = (query?: URLSearchParams) => {
    const answer = { code: 'c', state: query?.get('state') as string, iss: foreign.base };
    return browser.get(`/gateway/callback?${new URLSearchParams(answer)}`);
  };
  expect((await back(begun[0])).headers.get('location')).toBe('/gateway/found/connect?done=connected');
  expect((await back(begun[0])).status).toBe(400);
  expect((await back(begun[1])).headers.get('location')).toBe('/gateway/configured/connect?done=connected');
  expect(browser.cookies.size).toBe(0);
});

it('two sign-ins at different servers that one browser begins at the same time both end', async () => {
  reset({});
  const browser = browserOf(await t.user());
  const servers = ['found', 'configured'];
  const begun = await Promise.all(servers.map((server) => begin(browser, server)));
  for (const [n, server] of servers.entries()) {
    const answer = { code: 'c', state: begun[n]?.get('state') as string, iss: foreign.base };
    const done = await browser.get(`/gateway/callback?${new URLSearchParams(answer)}`);
    expect(done.headers.get('location')).toBe(`/gateway/${server}/connect?done=connected`);
  }
});

it('a sign-in does not continue with the secret of another person or of an ended sign-in', async () => {
  reset({});
  const secretOf = (browser: FormClient) => [...browser.cookies.values()].join();
  const browser = browserOf(await t.user());
  await begin(browser, 'found');
  const other = browserOf(await t.user());
  for (const [name, value] of browser.cookies) other.cookies.set(name, value);
  await begin(other, 'found');
  expect(secretOf(other)).not.toBe(secretOf(browser));
  const before = secretOf(browser);
  t.clock.advance(10 * 60_000);
  await begin(browser, 'found');
  expect(secretOf(browser)).not.toBe(before);
});
