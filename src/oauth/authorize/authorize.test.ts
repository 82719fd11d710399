import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  ask,
  authorizePath,
  claimsOf,
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
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const ISSUER = 'http://localhost:3000';
const CALLBACK = 'https://app.example/callback';

let t: TestService;
let person: Person;
let client: Json;
/** Registered by an administrator, so errors of its requests are redirected. */
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
    'leads the person to the consent page, at %s',
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
    ['a path beyond it', { redirect_uri: 'https://app.example/callback/x' }],
    ['another case', { redirect_uri: 'https://app.example/Callback' }],
    ['the host in capitals', { redirect_uri: 'https://APP.example/callback' }],
    ['an encoded slash', { redirect_uri: 'https://app.example%2Fcallback' }],
    ['a query', { redirect_uri: `${CALLBACK}?x=1` }],
    ['a fragment', { redirect_uri: `${CALLBACK}#x` }],
    ['a user', { redirect_uri: 'https://app.example@evil.example/callback' }],
    ['a port', { redirect_uri: 'https://app.example:444/callback' }],
    ['another scheme', { redirect_uri: 'http://app.example/callback' }],
  ])('[RFC 6749 4.1.2.1; RFC 9700 2.1] shows a page and redirects nowhere for %s', async (_what, query) => {
    const r = await opened(t, authorizePath(ask(client, query)), { as: person, headers: { accept: 'text/html' } });
    expect(r.status).toBe(400);
    expect(r.headers.has('location')).toBe(false);
    expect(r.headers.get('content-type')).toMatch(/^text\/html/);
  });

  it('returns an OAuth error as JSON if the client does not accept HTML', async () => {
    const r = await opened(t, authorizePath(ask(client, { redirect_uri: 'https://evil.example/' })), { as: person });
    expect([r.status, r.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'redirect_uri is not registered for this client.' },
    ]);
  });

  it.each(['client_id', 'redirect_uri'])('[RFC 6749 3.1] does not redirect if %s is repeated', async (name) => {
    const request = ask(client);
    const r = await opened(t, `${authorizePath(request)}&${name}=${encodeURIComponent(request.query[name] ?? '')}`, {
      as: person,
    });
    expect([r.status, r.headers.has('location')]).toEqual([400, false]);
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    ['no response_type', { response_type: undefined }, 'invalid_request'],
    ['response_type=token', { response_type: 'token' }, 'unsupported_response_type'],
    ['response_type=code token', { response_type: 'code token' }, 'unsupported_response_type'],
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['no method, which would mean plain', { code_challenge_method: undefined }, 'invalid_request'],
    ['plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['s256 in small letters', { code_challenge_method: 's256' }, 'invalid_request'],
    ['a challenge of 42 characters', { code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    ['a challenge of 44 characters', { code_challenge: 'x'.repeat(44) }, 'invalid_request'],
    ['a padded challenge', { code_challenge: `${'x'.repeat(42)}=` }, 'invalid_request'],
    ['a challenge in base64', { code_challenge: `${'x'.repeat(42)}+` }, 'invalid_request'],
    ['an unknown scope', { scope: 'mcp:read everything' }, 'invalid_scope'],
    ['a scope of 3,000 characters', { scope: 'x'.repeat(3000) }, 'invalid_request'],
    ['an unknown resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['a resource that is no address', { resource: 'x' }, 'invalid_target'],
    ['response_mode=fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['response_mode=form_post', { response_mode: 'form_post' }, 'invalid_request'],
    ['a request object', { request: 'a.b.c' }, 'invalid_request'],
    ['a request by address', { request_uri: 'https://app.example/request' }, 'invalid_request'],
  ])(
    '[RFC 6749 4.1.2.1; RFC 7636 4.4.1; RFC 9207 2] answers by redirect, with state and iss, for %s',
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
  ])('[RFC 6749 3.1; RFC 8707 2] answers by redirect when %s comes twice', async (name, error) => {
    const r = await opened(t, `${authorizePath(ask(vouched, { resource: ISSUER }))}&${name}=mcp:read`, { as: person });
    expect([r.status, locationOf(r).searchParams.get('error')]).toEqual([302, error]);
  });

  it('[MCP 2026-07-28 authorization] a client may request more scopes than it registered itself, but not more than an administrator registered', async () => {
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

  it('[OIDC Core 3.1.2.1] answers prompt=none without showing a page', async () => {
    expect(locationOf(await getVouched({ prompt: 'none' })).searchParams.get('error')).toBe('consent_required');
    expect(locationOf(await opened(t, authorizePath(ask(vouched, { prompt: 'none' })))).searchParams.get('error')).toBe(
      'login_required',
    );
  });

  it('[RFC 6749 3.1] ignores unknown parameters, and keeps the query of the registered URI', async () => {
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

describe('redirect URIs on loopback', () => {
  const uris = [
    'http://localhost/callback',
    'http://127.0.0.1/callback',
    'http://[::1]/callback',
    'http://127.0.0.1:33418/',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ];
  let native: Json;
  beforeAll(async () => {
    native = await register(t, { redirect_uris: uris, token_endpoint_auth_method: 'none' });
  });

  it.each([
    ...uris,
    'http://localhost:5123/callback',
    'http://127.0.0.1:65535/callback',
    'http://[::1]:1/callback',
    'http://127.0.0.1:1024/',
  ])('[RFC 8252 7.3] on loopback the port may differ: %s is registered', async (uri) => {
    const request = ask(native, { redirect_uri: uri });
    const r = await consent(t, person, request);
    expect(r.status, r.text).toBe(303);
    expect(r.headers.get('location')?.startsWith(`${uri}?code=`)).toBe(true);
    const codeOf = new URLSearchParams((r.headers.get('location') ?? '').split('?')[1]).get('code') ?? '';
    expect((await exchange(t, request, codeOf)).status).toBe(200);
  });

  it.each([
    'http://localhost/Callback',
    'http://localhost:5123/callback/',
    'http://localhost:5123/callback?x=1',
    'http://localhost:5123',
    'http://localhost:99999/callback',
    'http://127.0.0.2/callback',
    'http://127.1/callback',
    'http://0.0.0.0/callback',
    'http://localhost.evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost@evil.example/callback',
    'https://localhost/callback',
    'http://[::ffff:127.0.0.1]/callback',
    'cursor://anysphere.cursor-mcp:80/oauth/callback',
    'cursor://evil/oauth/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback?x',
  ])('[RFC 8252 7.3; RFC 9700 4.1.3] nothing but the port may differ: %s is not registered', async (uri) => {
    const r = await opened(t, authorizePath(ask(native, { redirect_uri: uri })), { as: person });
    expect([r.status, r.headers.has('location')]).toEqual([400, false]);
  });
});

describe('the consent page', () => {
  it('has a sentence and a checkbox for each scope, the agent that will act, and two buttons of the same kind', async () => {
    const { text } = await get({ scope: 'mcp:read mcp:execute agents:read' }, await signUp(t));
    expect(text.match(/type="checkbox"/g)).toHaveLength(3);
    expect(text).toContain('name="scope:agents:read"');
    expect(text).toMatch(/name="agent" value="new" checked/);
    const buttons = [...text.matchAll(/<button[^>]*>/g)].map((m) => m[0].replace(/value="[^"]*"/, ''));
    expect(buttons).toHaveLength(2);
    expect(buttons[0]).toBe(buttons[1]);
  });

  it('[RFC 9700 4.16] the consent page cannot be framed or cached, and loads and runs nothing', async () => {
    const r = await get({}, await signUp(t));
    const csp = r.headers.get('content-security-policy') ?? '';
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toContain('unsafe-');
    expect(csp).toContain("form-action 'self' https://app.example");
    expect(r.headers.get('x-frame-options')).toBe('DENY');
    expect(r.headers.get('cache-control')).toBe('no-store');
    expect(r.headers.get('referrer-policy')).toMatch(/^(no-referrer|same-origin)$/);
    expect(r.text).not.toMatch(/<script|<img|<link|src=/i);
  });

  it('[ASVS 5.0 1.2.1] escapes the name of a client', async () => {
    const evil = await register(t, { client_name: '<script>alert(1)</script>"><img src=x>' });
    const r = await opened(t, authorizePath(ask(evil, { state: '"><script>alert(2)</script>' })), { as: person });
    expect(r.text).not.toMatch(/<script|<img/);
    expect(r.text).toContain('&lt;script&gt;');
  });

  it('[MCP 2026-07-28 security] warns of a self-registered client, and shows a loopback redirect as this computer', async () => {
    const native = await register(t, { redirect_uris: ['http://127.0.0.1/callback'] });
    const { text } = await opened(t, authorizePath(ask(native, { redirect_uri: 'http://127.0.0.1:4711/callback' })), {
      as: person,
    });
    expect(text).toContain('<strong>127.0.0.1:4711</strong> (');
    expect(text).toMatch(/class="[^"]*warning/);
    const vouched = (
      await t.call('POST', '/oauth/clients', {
        as: await t.admin(),
        body: { redirect_uris: [CALLBACK], client_name: 'Vouched' },
      })
    ).body;
    expect((await opened(t, authorizePath(ask(vouched)), { as: person })).text).not.toMatch(/class="[^"]*warning/);
  });

  it('redirects a denial, and stores no consent', async () => {
    const someone = await signUp(t);
    const request = ask(client);
    const r = await consent(t, someone, request, { decision: 'deny' });
    expect(r.status).toBe(303);
    expect(Object.fromEntries(locationOf(r).searchParams)).toEqual({
      error: 'access_denied',
      state: 'the state',
      iss: ISSUER,
    });
    expect((await t.call('GET', '/agents', { as: someone })).body).toEqual([]);
    expect((await opened(t, authorizePath(request), { as: someone })).status).toBe(200);
  });

  it('[RFC 9700 4.12; RFC 9207 2] consent returns 303 with code, state and iss', async () => {
    const r = await consent(t, await signUp(t), ask(client));
    expect(r.status).toBe(303);
    expect(Object.fromEntries(locationOf(r).searchParams)).toEqual({
      code: expect.stringMatching(/^lga_/),
      state: 'the state',
      iss: ISSUER,
    });
    expect(r.headers.get('referrer-policy')).toBe('no-referrer');
    expect(r.headers.get('cache-control')).toBe('no-store');
  });

  it('[ASVS 5.0 10.4.11] consent grants exactly the ticked scopes, and requires at least one', async () => {
    const someone = await signUp(t);
    const authorization = { authorization: `Bearer ${someone.token}` };
    const request = ask(client, { scope: 'mcp:read mcp:execute agents:write' });
    const consentToken = consentTokenOf(await opened(t, authorizePath(request), { as: someone }));
    const typed = { agent: 'new', decision: 'allow', consentToken };
    const none = await form(t, consentPath(request), typed, authorization);
    expect(none.status).toBe(400);
    const r = await form(
      t,
      consentPath(request),
      { ...typed, consentToken: consentTokenOf(none), 'scope:mcp:read': 'on', 'scope:audit:read': 'on' },
      authorization,
    );
    expect((await exchange(t, request, locationOf(r).searchParams.get('code') ?? '')).body.scope).toBe('mcp:read');
  });

  it('creates an agent for person and client at the first consent and offers it at the next', async () => {
    const someone = await signUp(t);
    const one = await tokens(t, someone, client);
    const again = await tokens(t, someone, client, { scope: 'mcp:read' });
    const { sub } = claimsOf(one.access_token);
    expect(claimsOf(again.access_token).sub).toBe(sub);
    const agents = (await t.call('GET', '/agents', { as: someone })).body;
    expect(agents).toMatchObject([
      {
        id: sub,
        ownerId: someone.id,
        type: 'delegated',
        name: 'Test client',
        permissions: [{ resource: 'mcp:*', actions: ['read', 'execute'] }],
      },
    ]);
  });

  it('lets the person choose one of their own agents of type delegated', async () => {
    const someone = await signUp(t);
    const make = async (type: string, owner: Person) =>
      (await t.call('POST', '/agents', { as: owner, body: { ownerId: owner.id, name: 'mine', type } })).body;
    const mine = await make('delegated', someone);
    const request = ask(client);
    const r = await consent(t, someone, request, { agent: mine.id });
    expect(
      claimsOf((await exchange(t, request, locationOf(r).searchParams.get('code') ?? '')).body.access_token).sub,
    ).toBe(mine.id);
    for (const wrong of [(await make('service', someone)).id, (await make('delegated', person)).id, 'agt_x', '']) {
      expect((await consent(t, someone, ask(client, { scope: 'mcp:execute' }), { agent: wrong })).status, wrong).toBe(
        400,
      );
    }
  });
});

describe('permissions of a scope', () => {
  it('are those of mcp.scopeActions, on the tools of the requested server', async () => {
    const one = await createTestService({
      config: {
        mcp: { extraScopes: ['tools:admin'], scopeActions: ['mcp:read=read', 'mcp:read=list', 'tools:admin=*'] },
      },
    });
    await one.call('POST', '/mcp/servers', {
      as: await one.admin(),
      body: { name: 'notes', endpoint: 'https://notes.example/mcp' },
    });
    const someone = await signUp(one);
    const given = async (scope: string, more: Record<string, string> = {}) => {
      const { sub } = claimsOf((await tokens(one, someone, await register(one), { scope, ...more })).access_token);
      return (await one.call('GET', `/agents/${sub}`, { as: someone })).body.permissions;
    };
    expect(await given('mcp:read mcp:execute', { resource: 'https://notes.example/mcp' })).toEqual([
      { resource: 'mcp:notes:*', actions: ['read', 'list'] },
    ]);
    expect(await given('tools:admin')).toEqual([{ resource: 'mcp:*', actions: ['*'] }]);
    expect(await given('mcp:execute')).toEqual([]);
    await expect(createTestService({ config: { mcp: { scopeActions: ['mcp:read'] } } })).rejects.toThrow(
      /mcp\.scopeActions.*must be a scope, an equals sign and an action/,
    );
  });
});

describe('a remembered consent', () => {
  const asks = async (someone: Person, of: Json, query: Record<string, string | undefined> = {}) =>
    (await opened(t, authorizePath(ask(of, query)), { as: someone })).status === 200;

  it('applies to the same client, redirect URI, resource and scopes only', async () => {
    const someone = await signUp(t);
    const two = await register(t, { redirect_uris: [CALLBACK, 'https://app.example/other'] });
    await code(t, someone, ask(two));
    expect(await asks(someone, two)).toBe(false);
    expect(await asks(someone, two, { scope: 'mcp:execute mcp:read' })).toBe(false);
    expect(await asks(someone, two, { scope: 'mcp:read' })).toBe(true);
    expect(await asks(someone, two, { scope: 'mcp:read mcp:execute agents:read' })).toBe(true);
    expect(await asks(someone, two, { redirect_uri: 'https://app.example/other' })).toBe(true);
    expect(await asks(someone, two, { prompt: 'consent' })).toBe(true);
    expect(await asks(someone, await register(t))).toBe(true);
    expect(await asks(await signUp(t), two)).toBe(true);
  });

  it('[RFC 8252 8.6; MCP 2026-07-28 security] consent is never remembered for a client on the person’s own machine', async () => {
    const someone = await signUp(t);
    const uris = ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/', 'cursor://anysphere/callback'];
    const mixed = await register(t, { redirect_uris: uris });
    for (const uri of uris) await consent(t, someone, ask(mixed, { redirect_uri: uri }));
    expect(await Promise.all(uris.map((uri) => asks(someone, mixed, { redirect_uri: uri })))).toEqual([
      false,
      true,
      true,
    ]);
    const vouched = (await t.call('POST', '/oauth/clients', { as: await t.admin(), body: { redirect_uris: uris } }))
      .body;
    for (const uri of uris) await consent(t, someone, ask(vouched, { redirect_uri: uri }));
    expect(await Promise.all(uris.map((uri) => asks(someone, vouched, { redirect_uri: uri })))).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('does not change the permissions of the agent; only a submitted page adds to them', async () => {
    const someone = await signUp(t);
    const own = await register(t);
    const { sub } = claimsOf((await tokens(t, someone, own)).access_token);
    const held = async () => (await t.call('GET', `/agents/${sub}`, { as: someone })).body.permissions;
    for (const permissions of [[{ resource: 'mcp:github:*', actions: ['read'] }], []]) {
      await t.call('PATCH', `/agents/${sub}`, { as: someone, body: { permissions } });
      for (const query of [{}, { prompt: 'none' }]) {
        const r = await opened(t, authorizePath(ask(own, query)), { as: someone });
        expect([r.status, locationOf(r).searchParams.has('code')], r.text).toEqual([302, true]);
      }
      expect(await held()).toEqual(permissions);
    }
    await consent(t, someone, ask(own, { prompt: 'consent' }), { agent: sub });
    expect(await held()).toEqual([{ resource: 'mcp:*', actions: ['read', 'execute'] }]);
  });

  it('ends with its agent', async () => {
    const someone = await signUp(t);
    const own = await register(t);
    const { sub } = claimsOf((await tokens(t, someone, own)).access_token);
    expect(await asks(someone, own)).toBe(false);
    await t.call('DELETE', `/agents/${sub}`, { as: someone });
    expect(await asks(someone, own)).toBe(true);
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
  ])('[ASVS 5.0 10.7.1; MCP security] consent is not taken from the form of %s', async (_what, headers) => {
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
