import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../../test/support/browser-like.ts';
import { listenerOf, loopbackServers, withService } from '../../../../../test/support/loopback.ts';
import { webAnswer } from '../../../../../test/support/mcp.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../../test/support/service.ts';
import { WebPerson } from '../../../../../test/support/web-person.ts';
import { protectMcp } from '../../../guard/protect.ts';
import { revokeWaiting } from './revocations.ts';

const { listening, closeAll } = loopbackServers();

/** A foreign authorization server whose metadata and responses each test can change. */
const rogue = {
  base: '',
  metadata: {} as Json,
  token: (_form: URLSearchParams): Json | Promise<Json> => ({ status: 400, body: {} }),
  asked: [] as URLSearchParams[],
  /** The requests of the client to the token endpoint. */
  credentials: [] as (string | null)[],
  registered: [] as Json[],
  revoked: [] as URLSearchParams[],
  authorizations: [] as (string | null)[],
};

let t: TestService;
/** Another instance on the same database. */
let second: TestService;
let third: TestService;
let base: string;
let notes: string;
/** What the foreign MCP server received. */
const received: (string | null)[] = [];
let alice: TestUser;
const visitor = new WebPerson();

beforeAll(async () => {
  const [own, other, guarded, foreign, closed] = await Promise.all([
    listening(),
    listening(),
    listening(),
    listening(),
    listening(),
  ]);
  base = own.base;
  notes = `${guarded.base}/mcp`;
  third = await createTestService({
    lasting: true,
    config: { baseUrl: other.base, mcp: { allowPrivateNetworks: true } },
  });
  other.handle(withService(third));
  await third.legate.mcp.registerServer({ name: 'notes', endpoint: notes });
  await visitor.signUp(other.base);
  const protectedNotes = protectMcp((request, { authInfo }) => webAnswer(request, authInfo, true), {
    legate: third.legate,
    server: { name: 'notes', endpoint: notes },
  });
  guarded.handle(
    listenerOf((request) => {
      received.push(request.headers.get('authorization'));
      return protectedNotes(request);
    }),
  );
  rogue.base = foreign.base;
  foreign.handle(listenerOf(answerRogue));
  closed.handle(
    listenerOf(async () =>
      Response.json({ resource: `${closed.base}/mcp`, authorization_servers: ['http://169.254.169.254'] }),
    ),
  );
  const auth = { type: 'oauth' as const };
  const legate = { auth, pin: 'off' as const };
  const config = {
    baseUrl: base,
    gateway: {
      allowPrivateNetworks: true,
      servers: {
        notes: { url: notes, legate },
        rogue: {
          url: `${rogue.base}/mcp`,
          legate: { ...legate, auth: { ...auth, clientId: 'us', scopes: ['a', 'b'] } },
        },
        unregistered: { url: `${rogue.base}/mcp`, legate },
        closed: { url: `${closed.base}/mcp`, legate: { auth } },
      },
    },
  };
  t = await createTestService({ lasting: true, config });
  second = await createTestService({ lasting: true, config, sameDatabaseAs: t, clock: t.clock });
  own.handle(withService(t));
  alice = await t.user();
});
afterAll(closeAll);

async function answerRogue(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith('/.well-known/oauth-protected-resource'))
    return Response.json({ resource: `${rogue.base}/mcp`, authorization_servers: [rogue.base] });
  if (pathname === '/.well-known/oauth-authorization-server') return Response.json(rogue.metadata);
  if (pathname === '/token') {
    const form = new URLSearchParams(await request.text());
    rogue.asked.push(form);
    rogue.credentials.push(request.headers.get('authorization'));
    const { status, body } = await rogue.token(form);
    return Response.json(body, { status });
  }
  if (pathname === '/register') {
    rogue.registered.push(await request.json());
    return Response.json({ client_id: 'registered', client_secret: 'of the client' }, { status: 201 });
  }
  if (pathname === '/revoke') {
    rogue.revoked.push(new URLSearchParams(await request.text()));
    return new Response(null);
  }
  const authorization = request.headers.get('authorization');
  rogue.authorizations.push(authorization);
  return authorization?.startsWith('Bearer good')
    ? webAnswer(request, undefined, true)
    : new Response(null, { status: 401 });
}

const honest = (more: Json = {}): Json => ({
  issuer: rogue.base,
  authorization_endpoint: `${rogue.base}/authorize`,
  token_endpoint: `${rogue.base}/token`,
  revocation_endpoint: `${rogue.base}/revoke`,
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  ...more,
});
const tokens = (more: Json = {}) => ({
  status: 200,
  body: { access_token: 'good-1', token_type: 'Bearer', expires_in: 3600, refresh_token: 'again-1', ...more },
});

const browserOf = (person: TestUser) => new FormClient(t, { authorization: `Bearer ${person.token}` });
/** Presses the button of the connect page. Returns the address to which the person is redirected. */
async function begin(browser: FormClient, server: string): Promise<URL> {
  const page = await browser.post(`/gateway/${server}/connect`, { action: 'connect' });
  const href = /class="button" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
  if (href === undefined) throw new Error(`no link on the page: ${page.status} ${page.text.slice(0, 2000)}`);
  return new URL(href);
}
const back = (browser: FormClient, answer: Record<string, string>) =>
  browser.get(`/gateway/callback?${new URLSearchParams(answer)}`);
const stateOf = (address: URL): string => address.searchParams.get('state') as string;
/** Connects to the foreign server. Its token endpoint then responds as each test sets. */
async function connectRogue(person: TestUser, server = 'rogue'): Promise<FormClient> {
  const browser = browserOf(person);
  const state = stateOf(await begin(browser, server));
  const done = await back(browser, { code: 'c', state, iss: rogue.base });
  expect([done.status, done.headers.get('location')]).toEqual([303, `/gateway/${server}/connect?done=connected`]);
  return browser;
}
const agentOf = (person: TestUser) =>
  t.agent(person, {
    permissions: ['notes', 'rogue', 'unregistered'].map((name) => ({
      resource: `mcp:${name}:*`,
      actions: ['execute'],
    })),
  });
const search = async (as: { token: string }, server: string, at = t): Promise<Json> => {
  const params = { name: 'search', arguments: { query: 'milk' } };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  return (await at.call('POST', `/gateway/${server}/mcp`, { as, body })).body.result;
};

describe('a server with its own sign-in', () => {
  it('is connected by its metadata, called with its own token, and revoked there at the end', async () => {
    const agent = await agentOf(alice);
    expect((await search(agent, 'notes'))._meta.reason).toBe('NOT_CONNECTED');
    const browser = browserOf(alice);
    const address = await begin(browser, 'notes');
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: `${base}/gateway/client-metadata.json`,
      redirect_uri: `${base}/gateway/callback`,
      resource: notes,
      code_challenge_method: 'S256',
    });
    const landed = await visitor.decide(address.href);
    const done = await browser.get(landed.pathname + landed.search);
    expect(done.headers.get('location')).toBe('/gateway/notes/connect?done=connected');
    received.length = 0;
    expect((await search(agent, 'notes')).content[0].text).toBe('found milk');
    expect(received.length).toBeGreaterThan(0);
    for (const authorization of received) expect(authorization).not.toContain(agent.token);
    const rows = await t.legate.platform.database.read.selectFrom('gateway_connections').selectAll().execute();
    const used = (received[0] as string).replace('Bearer ', '');
    const { body: shown } = await t.call('GET', '/gateway/connections', { as: alice });
    expect(JSON.stringify([rows, shown])).not.toContain(used);
    expect(shown.find(({ name }: Json) => name === 'notes')).toMatchObject({
      type: 'oauth',
      fields: [],
      connected: true,
    });
    expect((await search(await agentOf(await t.user()), 'notes'))._meta.reason).toBe('NOT_CONNECTED');
    expect((await t.call('DELETE', '/gateway/connections/notes', { as: alice })).status).toBe(204);
    await t.legate.platform.background.idle();
    // The regular upkeep may have taken the revocation over.
    const isValid = async () => (await third.legate.platform.validateToken(used, notes)).valid;
    await expect.poll(isValid, { timeout: 60_000 }).toBe(false);
    expect((await search(agent, 'notes'))._meta.reason).toBe('NOT_CONNECTED');
  });

  it('sends code, verifier and resource of this sign-in', async () => {
    rogue.metadata = honest();
    rogue.token = () => tokens();
    rogue.asked.length = 0;
    await connectRogue(alice);
    expect(Object.fromEntries(rogue.asked[0] as URLSearchParams)).toEqual({
      grant_type: 'authorization_code',
      code: 'c',
      client_id: 'us',
      redirect_uri: `${base}/gateway/callback`,
      code_verifier: expect.any(String),
      resource: `${rogue.base}/mcp`,
    });
  });

  it('is not connected with secrets', async () => {
    const put = await t.call('PUT', '/gateway/connections/rogue', { as: alice, body: { fields: { token: 'x' } } });
    expect([put.status, put.body.error.code]).toEqual([409, 'CONNECTION_BY_SIGN_IN']);
  });
});

describe('the callback', () => {
  it.each([
    ['another state', { state: 'other' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['no issuer, although the server always names it', { iss: '' }],
  ])('refuses %s', async (_what, change) => {
    rogue.metadata = honest();
    rogue.asked.length = 0;
    const browser = browserOf(alice);
    const state = stateOf(await begin(browser, 'rogue'));
    const answer = Object.entries({ code: 'c', state, iss: rogue.base, ...change }).filter(([, value]) => value !== '');
    expect((await back(browser, Object.fromEntries(answer))).status).toBe(400);
    expect(rogue.asked).toEqual([]);
  });

  it('refuses a second use, another browser, another person, and after ten minutes', async () => {
    rogue.metadata = honest();
    rogue.token = () => tokens();
    const browser = browserOf(alice);
    const answer = { code: 'c', state: stateOf(await begin(browser, 'rogue')), iss: rogue.base };
    expect((await back(browserOf(alice), answer)).status).toBe(400);
    const other = browserOf(await t.user());
    for (const [name, value] of browser.cookies) other.cookies.set(name, value);
    expect((await back(other, answer)).status).toBe(400);
    const [copy] = [browserOf(alice)];
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    const statuses = await Promise.all([back(browser, answer), back(copy, answer)]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([303, 400]);
    const late = { ...answer, state: stateOf(await begin(browser, 'rogue')) };
    t.clock.advance(10 * 60_000);
    expect((await back(browser, late)).status).toBe(400);
  });

  it('shows that the other server refused', async () => {
    rogue.metadata = honest();
    const browser = browserOf(await t.user());
    const state = stateOf(await begin(browser, 'rogue'));
    const done = await back(browser, { error: 'access_denied', state, iss: rogue.base });
    expect(done.headers.get('location')).toBe('/gateway/rogue/connect?done=refused');
    expect((await browser.get('/gateway/rogue/connect?done=refused')).text).toContain('did not allow');
  });
});

describe('tokens', () => {
  it('are renewed by one of many requests on two instances when they expire', async () => {
    const person = await t.user();
    let renewals = 0;
    rogue.metadata = honest();
    rogue.token = (form) =>
      form.get('grant_type') === 'refresh_token'
        ? tokens({ access_token: `good-${++renewals + 1}`, refresh_token: undefined })
        : tokens({ expires_in: 60 });
    await connectRogue(person);
    const agent = await agentOf(person);
    expect((await search(agent, 'rogue')).content[0].text).toBe('found milk');
    expect((await search(agent, 'rogue', second)).content[0].text).toBe('found milk');
    t.clock.advance(61_000);
    rogue.authorizations.length = 0;
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_unused, n) => search(agent, 'rogue', n % 2 ? t : second)),
    );
    expect(answers.map(({ isError }) => isError)).toEqual(Array.from({ length: 6 }, () => undefined));
    expect(renewals).toBe(1);
    expect(new Set(rogue.authorizations)).toEqual(new Set(['Bearer good-2']));
  });

  it('that the server refuses are renewed once; a refused renewal ends the connection', async () => {
    const person = await t.user();
    rogue.metadata = honest();
    rogue.token = (form) =>
      form.get('grant_type') === 'refresh_token' ? tokens({ access_token: 'good-2' }) : tokens({ access_token: 'bad' });
    await connectRogue(person);
    const agent = await agentOf(person);
    expect((await search(agent, 'rogue')).content[0].text).toBe('found milk');
    rogue.token = () => ({ status: 400, body: { error: 'invalid_grant' } });
    t.clock.advance(3600_000);
    expect((await search(agent, 'rogue'))._meta.reason).toBe('NOT_CONNECTED');
    const { body: events } = await t.call('GET', '/events?types=gateway.disconnected', { as: person });
    expect(events[0].data).toEqual({ server: 'rogue', reason: 'refused-upstream' });
  });

  it('are revoked when the person is deleted', async () => {
    const person = await t.user();
    rogue.metadata = honest();
    rogue.token = () => tokens({ refresh_token: `of-${person.id}` });
    await connectRogue(person);
    await t.call('DELETE', `/users/${person.id}`, { as: await t.admin() });
    await revokeWaiting(t.legate.platform);
    expect(rogue.revoked.map((form) => form.get('token'))).toContain(`of-${person.id}`);
  });

  it('are revoked if the person is deleted while they are issued', async () => {
    const [person, admin] = [await t.user(), await t.admin()];
    rogue.metadata = honest();
    rogue.token = async () => {
      expect((await t.call('DELETE', `/users/${person.id}`, { as: admin })).status).toBe(204);
      return tokens({ refresh_token: `of-${person.id}` });
    };
    const browser = browserOf(person);
    const state = stateOf(await begin(browser, 'rogue'));
    expect((await back(browser, { code: 'c', state, iss: rogue.base })).status).toBe(401);
    await t.legate.platform.background.idle();
    expect(rogue.revoked.map((form) => form.get('token'))).toContain(`of-${person.id}`);
  });
});

describe('discovery', () => {
  const attempt = async (server: string): Promise<[number, boolean]> => {
    const page = await browserOf(alice).post(`/gateway/${server}/connect`, { action: 'connect' });
    return [page.status, page.text.includes('is not possible right now')];
  };

  it.each([
    ['metadata of another issuer', { issuer: 'https://evil.example' }],
    ['no PKCE', { code_challenge_methods_supported: ['plain'] }],
    ['a script as authorization endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
  ])('refuses %s', async (_what, more) => {
    rogue.metadata = honest(more);
    expect(await attempt('rogue')).toEqual([502, true]);
  });

  it('needs metadata, and a configured client if the authorization server does not register any', async () => {
    rogue.metadata = honest();
    expect(await attempt('unregistered')).toEqual([502, true]);
    expect(await attempt('closed')).toEqual([502, true]);
  });

  it('registers the service once; its secret goes to the token endpoint and is kept encrypted [RFC 7591]', async () => {
    rogue.metadata = honest({ registration_endpoint: `${rogue.base}/register` });
    rogue.token = () => tokens();
    const [first, other] = [await t.user(), await t.user()];
    const address = await begin(browserOf(await t.user()), 'unregistered');
    expect(address.searchParams.get('client_id')).toBe('registered');
    expect(rogue.registered).toMatchObject([{ redirect_uris: [`${base}/gateway/callback`], response_types: ['code'] }]);
    rogue.credentials.length = 0;
    for (const person of [first, other]) {
      await connectRogue(person, 'unregistered');
      expect((await search(await agentOf(person), 'unregistered')).content[0].text).toBe('found milk');
    }
    expect(rogue.registered).toHaveLength(1);
    const basic = `Basic ${Buffer.from('registered:of+the+client').toString('base64')}`;
    expect(rogue.credentials).toEqual([basic, basic]);
    const rows = await t.legate.platform.database.read.selectFrom('gateway_oauth_clients').selectAll().execute();
    expect(rows.map(({ issuer }) => issuer)).toEqual([rogue.base]);
    expect(JSON.stringify(rows)).not.toContain('of the client');
  });

  it('does not lead to private addresses unless they are allowed', async () => {
    const auth = { type: 'oauth' as const };
    const url = `${rogue.base}/mcp`;
    const strict = await createTestService({
      config: {
        gateway: {
          servers: {
            notes: { url: notes, legate: { auth } },
            rogue: { url, legate: { auth: { ...auth, clientId: 'us' } } },
          },
        },
      },
    });
    const person = await strict.user();
    const post = async (server: string): Promise<number> => {
      const browser = new FormClient(strict, { authorization: `Bearer ${person.token}` });
      return (await browser.post(`/gateway/${server}/connect`, { action: 'connect' })).status;
    };
    const before = received.length;
    expect(await post('notes')).toBe(502);
    expect(received.length).toBeGreaterThan(before);
    // The authorization server has the configured address.
    rogue.metadata = honest();
    expect(await post('rogue')).toBe(200);
  });
});
