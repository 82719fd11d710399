import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  ask,
  authorizePath,
  code,
  consent,
  consentPath,
  consentTokenOf,
  exchange,
  form,
  locationOf,
  opened,
  type Person,
  register,
  registerVouched,
  signUp,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const ISSUER = 'http://localhost:3000';
const CALLBACK = 'https://app.example/callback';

let t: TestService;
let person: Person;
let client: Json;
/** An administrator registered this client, so errors of its requests are redirected. */
let vouched: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  person = await signUp(t);
  client = await register(t);
  vouched = await registerVouched(t);
});
const get = (query: Record<string, string | undefined>, as: Person | undefined = person, prefix?: string) =>
  opened(t, authorizePath(ask(client, query), prefix), { as });
const getVouched = (query: Record<string, string | undefined>) =>
  opened(t, authorizePath(ask(vouched, query)), { as: person });

describe('GET /oauth/authorize', () => {
  it.each(['/api/legate/oauth', '/api/legate/mcp', '/oauth', '/mcp'])(
    'redirects the person to the consent page, at %s',
    async (prefix) => {
      const path = authorizePath(ask(client), prefix);
      const led = await t.call('GET', path, { as: person });
      expect([led.status, led.headers.get('location'), led.headers.get('cache-control'), led.text]).toEqual([
        302,
        path.replace('?', '/consent?'),
        'no-store',
        '',
      ]);
      const r = await t.call('GET', path.replace('?', '/consent?'), { as: person });
      expect(r.status).toBe(200);
      expect(r.headers.get('content-type')).toMatch(/^text\/html/);
      expect(r.text).toContain('Test client');
      expect(r.text).toContain('<strong>app.example</strong>');
    },
  );

  it('redirects to the sign-in page and back without a session', async () => {
    const path = authorizePath(ask(client));
    const r = await t.call('GET', path);
    expect(r.status).toBe(303);
    const to = new URL(r.headers.get('location') ?? '', ISSUER);
    expect(to.pathname).toMatch(/sign-in$/);
    expect(to.searchParams.get('returnTo')).toBe(path);
  });

  it('returns 403 for an agent and 401 for an invalid token', async () => {
    const agent = await t.agent(await t.user());
    expect((await opened(t, authorizePath(ask(client)), { as: agent })).status).toBe(403);
    expect((await opened(t, authorizePath(ask(client)), { as: 'lgs_bad' })).status).toBe(401);
  });

  it.each<[string, Record<string, string | undefined>]>([
    ['an unknown client', { client_id: 'cli_00000000000000000000000000' }],
    ['no client', { client_id: undefined }],
    ['a client id with a NUL', { client_id: 'cli_\u0000' }],
    ['an id of an agent', { client_id: 'agt_00000000000000000000000000' }],
    ['another host', { redirect_uri: 'https://app.example.evil.example/callback' }],
    ['another path', { redirect_uri: 'https://app.example/callback/..' }],
    ['a longer path', { redirect_uri: 'https://app.example/callback/x' }],
    ['another case', { redirect_uri: 'https://app.example/Callback' }],
    ['the host in capitals', { redirect_uri: 'https://APP.example/callback' }],
    ['an encoded slash', { redirect_uri: 'https://app.example%2Fcallback' }],
    ['a query', { redirect_uri: `${CALLBACK}?x=1` }],
    ['a fragment', { redirect_uri: `${CALLBACK}#x` }],
    ['a user', { redirect_uri: 'https://app.example@evil.example/callback' }],
    ['a port', { redirect_uri: 'https://app.example:444/callback' }],
    ['another scheme', { redirect_uri: 'http://app.example/callback' }],
  ])(
    '[RFC 6749 4.1.2.1; RFC 9700 2.1] an authorization request shows a page and does not redirect for %s',
    async (_what, query) => {
      const r = await opened(t, authorizePath(ask(client, query)), { as: person, headers: { accept: 'text/html' } });
      expect(r.status).toBe(400);
      expect(r.headers.has('location')).toBe(false);
      expect(r.headers.get('content-type')).toMatch(/^text\/html/);
    },
  );

  it('returns an OAuth error as JSON if the client does not accept HTML', async () => {
    const r = await opened(t, authorizePath(ask(client, { redirect_uri: 'https://evil.example/' })), { as: person });
    expect([r.status, r.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'redirect_uri is not registered for this client.' },
    ]);
  });

  it.each(['client_id', 'redirect_uri'])(
    '[RFC 6749 3.1] an authorization request does not redirect if %s is repeated',
    async (name) => {
      const request = ask(client);
      const r = await opened(t, `${authorizePath(request)}&${name}=${encodeURIComponent(request.query[name] ?? '')}`, {
        as: person,
      });
      expect([r.status, r.headers.has('location')]).toEqual([400, false]);
    },
  );

  it.each<[string, Record<string, string | undefined>, string]>([
    ['no response_type', { response_type: undefined }, 'invalid_request'],
    ['response_type=token', { response_type: 'token' }, 'unsupported_response_type'],
    ['response_type=code token', { response_type: 'code token' }, 'unsupported_response_type'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['no method, which would mean plain', { code_challenge_method: undefined }, 'invalid_request'],
    ['plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['s256 in lower case', { code_challenge_method: 's256' }, 'invalid_request'],
    ['a challenge of 42 characters', { code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    ['a challenge of 44 characters', { code_challenge: 'x'.repeat(44) }, 'invalid_request'],
    ['a padded challenge', { code_challenge: `${'x'.repeat(42)}=` }, 'invalid_request'],
    ['a challenge in base64', { code_challenge: `${'x'.repeat(42)}+` }, 'invalid_request'],
    ['an unknown scope', { scope: 'mcp:read everything' }, 'invalid_scope'],
    ['a scope of 3,000 characters', { scope: 'x'.repeat(3000) }, 'invalid_request'],
    ['an unknown resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['a resource that is not an address', { resource: 'x' }, 'invalid_target'],
    ['response_mode=fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['response_mode=form_post', { response_mode: 'form_post' }, 'invalid_request'],
    ['a request object', { request: 'a.b.c' }, 'invalid_request'],
    ['a request by address', { request_uri: 'https://app.example/request' }, 'invalid_request'],
  ])(
    '[RFC 6749 4.1.2.1; RFC 7636 4.4.1; RFC 9207 2] an error is redirected, with state and iss, for %s',
    async (_what, query, error) => {
      const r = await getVouched(query);
      expect(r.status).toBe(302);
      const to = locationOf(r);
      expect(to.origin + to.pathname).toBe(CALLBACK);
      expect(Object.fromEntries(to.searchParams)).toEqual({
        error,
        error_description: expect.any(String),
        state: 'the state',
        iss: ISSUER,
      });
      expect(to.hash).toBe('');
    },
  );

  it.each([
    ['scope', 'invalid_request'],
    ['code_challenge', 'invalid_request'],
    ['state', 'invalid_request'],
    ['resource', 'invalid_target'],
  ])('[RFC 6749 3.1; RFC 8707 2] an error is redirected when %s is given twice', async (name, error) => {
    const r = await opened(t, `${authorizePath(ask(vouched, { resource: ISSUER }))}&${name}=mcp:read`, { as: person });
    expect([r.status, locationOf(r).searchParams.get('error')]).toEqual([302, error]);
  });

  it('[MCP 2026-07-28 authorization] a client may exceed its own scopes, but not those that an admin set', async () => {
    const scope = 'mcp:read openid';
    const errorOf = async (of: Json, request: string | undefined) => {
      const r = await opened(t, authorizePath(ask(of, { scope: request })), { as: await signUp(t) });
      return r.status === 200
        ? [...r.text.matchAll(/name="scope:([^"]+)"/g)].map((m) => m[1])
        : locationOf(r).searchParams.get('error');
    };
    const own = await register(t, { scope });
    expect(await errorOf(own, undefined)).toEqual(['mcp:read']);
    expect(await errorOf(own, 'mcp:read mcp:execute')).toEqual(['mcp:read', 'mcp:execute']);
    expect(await errorOf(await register(t, { scope: 'openid' }), undefined)).toEqual(['mcp:read', 'mcp:execute']);
    const bound = (
      await t.call('POST', '/oauth/clients', { as: await t.admin(), body: { redirect_uris: [CALLBACK], scope } })
    ).body;
    expect(await errorOf(bound, 'mcp:read offline_access')).toEqual(['mcp:read', 'offline_access']);
    expect(await errorOf(bound, 'mcp:read mcp:execute')).toBe('invalid_scope');
  });

  it('[RFC 6749 3.1] a parameter without a value counts as omitted', async () => {
    for (const name of [
      'resource',
      'prompt',
      'state',
      'redirect_uri',
      'scope',
      'request',
      'request_uri',
      'response_mode',
    ])
      expect((await get({ [name]: '' })).status, name).toBe(200);
    for (const name of ['response_type', 'code_challenge']) {
      const to = locationOf(await getVouched({ [name]: '', state: '' }));
      expect([to.searchParams.get('error_description'), to.searchParams.has('state')]).toEqual([
        expect.stringMatching(new RegExp(`^${name} is missing`)),
        false,
      ]);
    }
    expect(locationOf(await getVouched({ code_challenge_method: '' })).searchParams.get('error_description')).toBe(
      'code_challenge_method must be S256.',
    );
    expect((await get({ client_id: '' })).status).toBe(400);
  });

  it('[OIDC Core 3.1.2.1] a request with prompt=none gets a response without showing a page', async () => {
    expect(locationOf(await getVouched({ prompt: 'none' })).searchParams.get('error')).toBe('consent_required');
    expect(locationOf(await opened(t, authorizePath(ask(vouched, { prompt: 'none' })))).searchParams.get('error')).toBe(
      'login_required',
    );
  });

  it('[RFC 6749 3.1] unknown parameters are ignored, and the query of the registered URI is kept', async () => {
    const own = await register(t, { redirect_uris: ['https://app.example/callback?tenant=1'] });
    const r = await consent(t, person, ask(own, { nonce: 'x', display: 'popup', response_mode: 'query' }));
    expect(r.status).toBe(303);
    expect(locationOf(r).search).toMatch(/^\?tenant=1&code=/);
  });

  it('[RFC 6749 3.1.2.3] a client with one redirect URI may omit it, here and at the token endpoint', async () => {
    const request = ask(client, { redirect_uri: undefined });
    const first = await form(t, '/oauth/token', {
      grant_type: 'authorization_code',
      code: await code(t, person, request),
      client_id: client.client_id,
      code_verifier: request.verifier,
    });
    expect(first.status, first.text).toBe(200);
    const two = await register(t, { redirect_uris: [CALLBACK, 'https://app.example/other'] });
    expect((await opened(t, authorizePath(ask(two, { redirect_uri: undefined })), { as: person })).status).toBe(400);
  });
});

describe('POST /oauth/authorize/consent', () => {
  const signedIn = async (): Promise<FormClient> => {
    const someone = await signUp(t);
    const browser = new FormClient(t);
    browser.cookies.set(`${t.database.name}_session`, someone.token);
    return browser;
  };
  const fields = { 'scope:mcp:read': 'on', agent: 'new', decision: 'allow' };

  it('accepts the form of the built-in page with the session cookie', async () => {
    const browser = await signedIn();
    const post = async (headers: Record<string, string> = {}) => {
      const path = consentPath(ask(client, { prompt: 'consent' }));
      return browser.post(path, { ...fields, consentToken: consentTokenOf(await browser.get(path)) }, headers);
    };
    const r = await post();
    expect([r.status, locationOf(r).searchParams.has('code')]).toEqual([303, true]);
    expect((await post({ origin: 'null', 'sec-fetch-site': 'same-origin' })).status).toBe(303);
  });

  it.each<[string, Record<string, string>]>([
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another site, whose browser names no origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['a subdomain', { origin: 'http://evil.localhost:3000', 'sec-fetch-site': 'same-site' }],
    ['another origin of an old browser', { origin: 'https://evil.example' }],
  ])('[ASVS 5.0 10.7.1; MCP security] consent is not accepted from the form of %s', async (_what, headers) => {
    const browser = await signedIn();
    const plain = Object.fromEntries(
      Object.entries({ 'sec-fetch-site': '', ...headers }).filter(([, value]) => value !== ''),
    );
    const r = await t.call('POST', consentPath(ask(client)), {
      raw: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...plain,
      },
    });
    expect([r.status, r.headers.has('location')]).toEqual([403, false]);
  });

  it('redirects to the sign-in page without a session, and validates the request again', async () => {
    const nobody = new FormClient(t);
    const r = await nobody.post(consentPath(ask(client)), fields);
    expect(r.status).toBe(303);
    expect(r.headers.get('location')).toContain('/sign-in');
    const browser = await signedIn();
    expect(
      (await browser.post(consentPath(ask(client, { redirect_uri: 'https://evil.example/' })), fields)).status,
    ).toBe(400);
    expect(
      locationOf(
        await browser.post(consentPath(ask(vouched, { code_challenge_method: 'plain' })), fields),
      ).searchParams.get('error'),
    ).toBe('invalid_request');
  });

  it('returns 415 for anything but a form', async () => {
    expect((await t.call('POST', consentPath(ask(client)), { as: person, body: fields })).status).toBe(415);
  });
});

describe('custom pages', () => {
  it('redirects to mcp.loginPage and mcp.consentPage, which decide through the API', async () => {
    const own = await createTestService({
      config: { mcp: { loginPage: 'https://login.example/start?app=1', consentPage: '/my-consent' } },
    });
    const app = await register(own);
    const someone = await signUp(own);
    const request = ask(app);
    const login = locationOf(await own.call('GET', authorizePath(request)));
    expect(login.origin + login.pathname).toBe('https://login.example/start');
    expect(login.searchParams.get('returnTo')).toBe(`${ISSUER}${authorizePath(request)}`);
    const page = await own.call('GET', authorizePath(request), { as: someone });
    expect(page.status).toBe(302);
    const query = (page.headers.get('location') ?? '').replace(/^\/my-consent\?/, '');
    const details = await own.call('GET', `/oauth/consent?${query}`, { as: someone });
    expect(details.status, details.text).toBe(200);
    expect(details.body).toMatchObject({
      client: { id: app.client_id, name: 'Test client', origin: 'self' },
      redirectHost: 'app.example',
      resource: ISSUER,
      agents: [],
      usualAgent: null,
    });
    expect(details.body.scopes).toEqual([
      { name: 'mcp:read', description: expect.any(String), sensitive: false },
      { name: 'mcp:execute', description: expect.any(String), sensitive: false },
    ]);
    const fresh = async () => (await own.call('GET', `/oauth/consent?${query}`, { as: someone })).body.consentToken;
    const decide = async (body: Json) =>
      own.call('POST', `/oauth/consent?${query}`, { as: someone, body: { consentToken: await fresh(), ...body } });
    expect((await own.call('POST', `/oauth/consent?${query}`, { body: { decision: 'allow' } })).status).toBe(401);
    expect((await decide({ decision: 'perhaps' })).status).toBe(400);
    expect((await decide({ decision: 'allow', scopes: ['audit:read'] })).status).toBe(400);
    expect((await decide({ decision: 'allow', agent: 'agt_x' })).status).toBe(400);
    expect((await decide({ decision: 'deny' })).body.redirectTo).toMatch(/error=access_denied/);
    const { redirectTo } = (await decide({ decision: 'allow', scopes: ['mcp:read'] })).body;
    const r = await exchange(own, request, new URL(redirectTo).searchParams.get('code') ?? '');
    expect(r.body.scope).toBe('mcp:read');
    expect((await own.call('GET', `/oauth/consent?${query}&scope=x`, { as: someone })).body).toMatchObject({
      redirectTo: expect.stringContaining('error=invalid_request'),
      redirectHost: 'app.example',
      confirm: false,
    });
    const stranger = await signUp(own);
    expect((await own.call('GET', `/oauth/consent?${query}&scope=x`, { as: stranger })).body.confirm).toBe(true);
    expect((await own.call('GET', '/oauth/consent?client_id=x', { as: someone })).status).toBe(400);
  });
});

describe('a database that fails', () => {
  it.each([
    ['oauth_clients', {}],
    ['mcp_servers', { resource: 'http://localhost:3000/mcp/servers/none' }],
  ])('causes no error about the request, and is not shown (%s)', async (table, more) => {
    const own = await createTestService();
    const request = ask(await registerVouched(own), more);
    const someone = await signUp(own);
    await own.legate.platform.database.write.schema.alterTable(table).renameTo(`${table}_away`).execute();
    const r = await own.call('GET', authorizePath(request), { as: someone });
    expect([r.status, r.headers.get('location')]).toEqual([500, null]);
    expect(r.text).not.toContain(table);
  });
});
