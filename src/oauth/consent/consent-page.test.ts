import { beforeAll, describe, expect, it } from 'vitest';
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
  refreshWith,
  register,
  signUp,
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const ISSUER = 'http://localhost:3000';
const CALLBACK = 'https://app.example/callback';

let t: TestService;
let person: Person;
let client: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  person = await signUp(t);
  client = await register(t);
});
const get = (query: Record<string, string | undefined>, as: Person | undefined = person, prefix?: string) =>
  opened(t, authorizePath(ask(client, query), prefix), { as });

describe('the consent page', () => {
  it('has a sentence and a checkbox for each scope, the agent that will act, and two buttons of one kind', async () => {
    const { text } = await get({ scope: 'mcp:read mcp:execute agents:read' }, await signUp(t));
    expect(text.match(/type="checkbox"/g)).toHaveLength(3);
    expect(text).toContain('name="scope:agents:read"');
    expect(text).toMatch(/name="agent" value="new" checked/);
    const buttons = [...text.matchAll(/<button[^>]*>/g)].map((m) => m[0].replace(/value="[^"]*"/, ''));
    expect(buttons).toHaveLength(2);
    expect(buttons[0]).toBe(buttons[1]);
  });

  it('tells agents of the same name apart by their ids', async () => {
    const owner = await signUp(t);
    const create = async (name: string) => (await t.agent(owner, { name, type: 'delegated' })).id;
    const [first, second, other] = [await create('Notes'), await create('Notes'), await create('Mail')];
    const { text } = await get({}, owner);
    const shown = (id: string) => text.includes(`>${id}<`);
    expect([first, second, other].map(shown)).toEqual([true, true, false]);
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

  it('[ASVS 5.0 1.2.1] the consent page escapes the name of a client', async () => {
    const evil = await register(t, { client_name: '<script>alert(1)</script>"><img src=x>' });
    const r = await opened(t, authorizePath(ask(evil, { state: '"><script>alert(2)</script>' })), { as: person });
    expect(r.text).not.toMatch(/<script|<img/);
    expect(r.text).toContain('&lt;script&gt;');
  });

  it('asks in a whole sentence about a client without a name', async () => {
    const nameless = await register(t, { client_name: undefined });
    const titleIn = async (language: string) => {
      const headers = { 'accept-language': language };
      return /<h1[^>]*>([^<]*)/.exec(
        (await opened(t, authorizePath(ask(nameless)), { as: person, headers })).text,
      )?.[1];
    };
    expect(await titleIn('en')).toBe('Allow an application without a name to act for you?');
    expect(await titleIn('de')).toBe('Darf eine Anwendung ohne Namen für Sie handeln?');
  });

  it('says that an address with a scheme of its own opens an application on this device', async () => {
    const uri = 'com.example.editor:/callback';
    const app = await register(t, { redirect_uris: [uri] });
    const { text } = await opened(t, authorizePath(ask(app, { redirect_uri: uri })), { as: person });
    expect(text).toContain('<strong>com.example.editor:</strong> (an application on this device)');
  });

  it('[MCP 2026-07-28 security] consent warns of self-registration and shows loopback as this computer', async () => {
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
      expect((await consent(t, someone, ask(client, { scope: 'mcp:execute' }), { agent: wrong })).status, 'wrong').toBe(
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

it('a further consent adds the actions that the agent lacks, and keeps the constraints on the others', async () => {
  const someone = await signUp(t);
  const app = await register(t);
  const { access_token } = await tokens(t, someone, app, { scope: 'mcp:read' });
  const agent = `/agents/${claimsOf(access_token).sub}`;
  const read = { resource: 'mcp:*', actions: ['read'], constraints: { ipAllowlist: ['192.0.2.1'] } };
  await t.call('PATCH', agent, { as: someone, body: { permissions: [read] } });
  await tokens(t, someone, app, { scope: 'mcp:read mcp:execute' });
  const held = async () => (await t.call('GET', agent, { as: someone })).body.permissions;
  expect(await held()).toEqual([read, { resource: 'mcp:*', actions: ['execute'] }]);
  const every = { ...read, actions: ['*'] };
  await t.call('PATCH', agent, { as: someone, body: { permissions: [every] } });
  await tokens(t, someone, app, { scope: 'mcp:read mcp:execute', prompt: 'consent' });
  expect(await held()).toEqual([every]);
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

  it('[RFC 8252 8.6; MCP 2026-07-28 security] consent is never kept for a client on the person’s machine', async () => {
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

  it('[ASVS 5.0 10.4.8] ends mcp.grantMaxAge after the person gave it, even if it was used meanwhile', async () => {
    const own = await createTestService({ config: { mcp: { grantMaxAge: 1000 } } });
    const someone = await signUp(own);
    const app = await register(own);
    await tokens(own, someone, app);
    const answer = () => opened(own, authorizePath(ask(app)), { as: someone });
    own.clock.advance(999_000);
    const request = ask(app);
    expect((await exchange(own, request, await code(own, someone, request))).status).toBe(200);
    own.clock.advance(1000);
    expect((await answer()).status).toBe(200);
    await code(own, someone, ask(app));
    expect((await answer()).status).toBe(302);
  });

  it.each<[string, (client: Json, got: Json) => Promise<unknown>]>([
    [
      'the client revokes its tokens',
      (app, { refresh_token }) =>
        form(t, '/oauth/revoke', {
          client_id: app['client_id'],
          client_secret: app['client_secret'],
          token: refresh_token,
        }),
    ],
    [
      'a refresh token is used twice',
      async (app, { refresh_token }) => {
        for (let i = 0; i < 2; i++) await refreshWith(t, app, refresh_token);
      },
    ],
  ])('does not apply when the person sees no access of the client, because %s', async (_what, end) => {
    const someone = await signUp(t);
    const own = await register(t);
    const got = await tokens(t, someone, own);
    expect(await asks(someone, own)).toBe(false);
    await end(own, got);
    t.clock.advance(60_000);
    expect((await t.call('GET', '/account/apps', { as: someone })).text).not.toContain('name="grant"');
    expect(await asks(someone, own)).toBe(true);
    await tokens(t, someone, own);
    expect(await asks(someone, own)).toBe(false);
  });

  it('does not apply when the client has not exchanged the code in time', async () => {
    const brief = await createTestService();
    const someone = await signUp(brief);
    const own = await register(brief);
    await code(brief, someone, ask(own));
    const answer = () => opened(brief, authorizePath(ask(own)), { as: someone });
    expect((await answer()).status).toBe(302);
    brief.clock.advance(60_000);
    expect((await answer()).status).toBe(200);
  });

  it('ends when its agent ends', async () => {
    const someone = await signUp(t);
    const own = await register(t);
    const { sub } = claimsOf((await tokens(t, someone, own)).access_token);
    expect(await asks(someone, own)).toBe(false);
    await t.call('DELETE', `/agents/${sub}`, { as: someone });
    expect(await asks(someone, own)).toBe(true);
  });
});
