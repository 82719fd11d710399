import { beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import {
  ask,
  authorizePath,
  claimsOf,
  code,
  exchange,
  form,
  opened,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

const PREFIXES = ['/api/legate/oauth', '/api/legate/mcp', '/oauth', '/mcp'];

let t: TestService;
let admin: TestUser;
let person: Person;
let client: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  person = await signUp(t);
  client = await register(t);
});
const basic = (of: Json) => ({ authorization: `Basic ${btoa(`${of.client_id}:${of.client_secret}`)}` });
const isValid = async (token: string): Promise<boolean> => (await t.legate.mcp.validateToken(token)).valid;
const isActive = async (token: string): Promise<boolean> =>
  (await form(t, '/oauth/introspect', { token }, { authorization: `Bearer ${admin.token}` })).body.active;
/** Checks that no endpoint accepts a token of the grant. */
const expectEnded = async (of: Json, got: Json): Promise<void> => {
  expect(await isValid(got.access_token)).toBe(false);
  expect(await isActive(got.access_token)).toBe(false);
  expect((await t.call('GET', '/agents', { as: got.access_token })).status).toBe(401);
  if (got.refresh_token === undefined) return;
  expect(await isActive(got.refresh_token)).toBe(false);
  expect((await refreshWith(t, of, got.refresh_token)).status).toBeGreaterThanOrEqual(400);
};

describe('POST /oauth/revoke', () => {
  it.each(PREFIXES)('[RFC 7009 2.1] revoking a refresh token ends its grant, at %s/revoke', async (prefix) => {
    const got = await tokens(t, person, client, { scope: 'agents:read' });
    const r = await form(t, `${prefix}/revoke`, { token: got.refresh_token, client_id: client.client_id });
    expect([r.status, r.text, r.headers.get('content-type')]).toEqual([200, '{}', 'application/json; charset=utf-8']);
    expect(r.headers.get('access-control-allow-origin')).toBe('*');
    expect(r.headers.get('cache-control')).toBe('no-store');
    await expectEnded(client, got);
  });

  it('[RFC 7009 2] revoking an access token ends it immediately, and keeps the grant', async () => {
    const got = await tokens(t, person, client, { scope: 'agents:read' });
    const other = (await refreshWith(t, client, got.refresh_token)).body;
    const r = await form(t, '/oauth/revoke', {
      token: got.access_token,
      token_type_hint: 'refresh_token',
      client_id: client.client_id,
    });
    expect(r.status).toBe(200);
    expect([await isValid(got.access_token), await isActive(got.access_token)]).toEqual([false, false]);
    expect((await t.call('GET', '/agents', { as: got.access_token })).status).toBe(401);
    expect(await isValid(other.access_token)).toBe(true);
    expect((await refreshWith(t, client, other.refresh_token)).status).toBe(200);
  });

  it('[RFC 7009 2.2] revocation: 200, no effect for unknown tokens and those of another client or kind', async () => {
    const got = await tokens(t, person, client);
    const other = await register(t);
    for (const token of [got.access_token, got.refresh_token, 'x', 'a.b.c', 'lgr_x', '\u0000'])
      expect(
        (await form(t, '/oauth/revoke', { token, client_id: other.client_id, token_type_hint: 'something' })).status,
        token,
      ).toBe(200);
    expect(await isValid(got.access_token)).toBe(true);
    expect((await refreshWith(t, client, got.refresh_token)).status).toBe(200);
  });

  it('[RFC 7009 2.1] revocation is 400 without a token, 401 for an unknown or unauthenticated client', async () => {
    const confidential = await register(t, { token_endpoint_auth_method: 'client_secret_basic' });
    expect((await form(t, '/oauth/revoke', { client_id: client.client_id })).body.error).toBe('invalid_request');
    for (const client_id of ['cli_x', confidential.client_id]) {
      const r = await form(t, '/oauth/revoke', { token: 'x', client_id });
      expect([r.status, r.body.error]).toEqual([401, 'invalid_client']);
    }
    expect((await form(t, '/oauth/revoke', { token: 'x' }, basic(confidential))).status).toBe(200);
    expect((await t.call('POST', '/oauth/revoke', { body: { token: 'x', client_id: client.client_id } })).status).toBe(
      415,
    );
  });
});

describe('POST /oauth/introspect', () => {
  it.each(PREFIXES)(
    '[RFC 7662 2.2] introspection tells a confidential client and an admin whether a token is valid, at %s/introspect',
    async (prefix) => {
      const got = await tokens(t, person, client);
      for (const headers of [basic(client), { authorization: `Bearer ${admin.token}` }]) {
        const r = await form(t, `${prefix}/introspect`, { token: got.access_token }, headers);
        expect(r.status, r.text).toBe(200);
        expect(r.body).toEqual({ active: true, token_type: 'Bearer', ...claimsOf(got.access_token) });
        expect(r.headers.get('cache-control')).toBe('no-store');
        expect(r.headers.has('access-control-allow-origin')).toBe(false);
      }
      expect((await form(t, `${prefix}/introspect`, { token: got.refresh_token }, basic(client))).body).toMatchObject({
        active: true,
        client_id: client.client_id,
        sub: claimsOf(got.access_token).sub,
      });
    },
  );

  it('[RFC 7662 2.2] introspection returns exactly {"active":false} for any other token', async () => {
    const got = await tokens(t, person, client);
    const session = person.token;
    const agent = await t.agent(await t.user());
    for (const token of [
      'x',
      'a.b.c',
      '\u0000',
      agent.token,
      session,
      `${got.access_token}x`,
      got.access_token.slice(0, -1),
      'x'.repeat(8000),
    ])
      expect((await form(t, '/oauth/introspect', { token }, basic(client))).body, token.slice(0, 20)).toEqual({
        active: false,
      });
    const other = await register(t);
    expect((await form(t, '/oauth/introspect', { token: got.refresh_token }, basic(other))).body).toEqual({
      active: false,
    });
    await refreshWith(t, client, got.refresh_token);
    expect((await form(t, '/oauth/introspect', { token: got.refresh_token }, basic(client))).body).toEqual({
      active: false,
    });
  });

  it('[RFC 7662 4] a client may introspect tokens of its own grants and of its resources, and no others', async () => {
    const endpoint = 'https://resource.example/mcp';
    await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'resource', endpoint } });
    const made = (more: Json) =>
      t.call('POST', '/oauth/clients', { as: admin, body: { grant_types: [], client_name: 'Server', ...more } });
    const stands = await made({ resources: [`${endpoint}/`] });
    expect([stands.status, stands.body.resources], stands.text).toEqual([201, [endpoint]]);
    const someone = await signUp(t);
    const theirs = await tokens(t, someone, client, { resource: endpoint, prompt: 'consent' });
    const ours = await tokens(t, someone, client, { prompt: 'consent' });
    // `resources` of a self-registered client are ignored.
    const stranger = await register(t, { resources: [endpoint] });
    expect(stranger).not.toHaveProperty('resources');
    const agent = await t.agent(await t.user());
    const active = async (token: string, headers: Record<string, string>) =>
      (await form(t, '/oauth/introspect', { token }, headers)).body;
    for (const [headers, expected] of [
      [basic(client), [true, true, true]],
      [basic(stands.body), [true, false, false]],
      [basic(stranger), [false, false, false]],
      [basic({ client_id: agent.id, client_secret: agent.token }), [false, false, false]],
    ] as const) {
      const answers = [];
      for (const token of [theirs.access_token, ours.access_token, theirs.refresh_token])
        answers.push(await active(token, headers));
      expect(answers.map((body) => body.active)).toEqual(expected);
      for (const body of answers) if (!body.active) expect(body).toEqual({ active: false });
    }
    expect((await made({ resources: ['https://elsewhere.example/mcp'] })).status).toBe(400);
    expect((await made({})).status).toBe(400);
  });

  it('has one rate limit for all its paths', async () => {
    const limits = { endpoints: { introspection: { limit: 3, window: 60 } } };
    const own = await createTestService({ config: { rateLimit: limits } });
    const statuses = [];
    for (const prefix of PREFIXES) statuses.push((await form(own, `${prefix}/introspect`, { token: 'x' })).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  it('revocation and authorization have a rate limit too', async () => {
    const limits = { endpoints: { revocation: { limit: 3, window: 60 }, authorization: { limit: 3, window: 60 } } };
    const own = await createTestService({ config: { rateLimit: limits } });
    const [revoked, asked] = [[] as number[], [] as number[]];
    for (const prefix of PREFIXES) {
      revoked.push((await form(own, `${prefix}/revoke`, { token: 'x', client_id: 'x' })).status);
      asked.push((await own.call('GET', `${prefix}/authorize?client_id=x`)).status);
    }
    expect([revoked.at(-1), asked.at(-1)]).toEqual([429, 429]);
    expect([...revoked.slice(0, 3), ...asked.slice(0, 3)]).not.toContain(429);
  });

  it('[RFC 7662 2.2] a refresh token is inactive if its agent has expired or its server was removed', async () => {
    const someone = await signUp(t);
    const active = async (token: string) => (await form(t, '/oauth/introspect', { token }, basic(client))).body.active;
    const first = await tokens(t, someone, client);
    const { sub } = claimsOf(first.access_token);
    await t.call('PATCH', `/agents/${sub}`, {
      as: someone,
      body: { expiresAt: new Date(t.clock.now() + 1000).toISOString() },
    });
    expect(await active(first.refresh_token)).toBe(true);
    t.clock.advance(1000);
    expect(await active(first.refresh_token)).toBe(false);
    const endpoint = 'https://gone.example/mcp';
    const server = (await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'gone', endpoint } })).body;
    const second = await tokens(t, someone, client, { resource: endpoint, prompt: 'consent' });
    expect(await active(second.refresh_token)).toBe(true);
    await t.call('DELETE', `/mcp/servers/${server.id}`, { as: admin });
    expect(await active(second.refresh_token)).toBe(false);
    const refused = await refreshWith(t, client, second.refresh_token);
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
    await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'gone', endpoint } });
    expect((await refreshWith(t, client, second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('[RFC 7662 2.2; RFC 7009 2.2] a long unknown token is inactive; an empty parameter counts as none', async () => {
    const open = await register(t, { token_endpoint_auth_method: 'none' });
    const token = 'x'.repeat(50_000);
    expect((await form(t, '/oauth/introspect', { token }, basic(client))).body).toEqual({ active: false });
    for (const fields of [{ token }, { token: 'x', client_secret: '', token_type_hint: '' }])
      expect((await form(t, '/oauth/revoke', { client_id: open.client_id, ...fields })).status).toBe(200);
    expect((await form(t, '/oauth/revoke', { client_id: open.client_id, token: '' })).body.error).toBe(
      'invalid_request',
    );
  });

  it('[RFC 7662 2.1] introspection refuses all but authenticated confidential clients and admins', async () => {
    const open = await register(t, { token_endpoint_auth_method: 'none' });
    const fields = { token: 'x' };
    const anonymous = await form(t, '/oauth/introspect', fields);
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer /),
    ]);
    expect(anonymous.body.error).toBe('invalid_token');
    const confidential = await register(t, { token_endpoint_auth_method: 'client_secret_post' });
    const agent = await t.agent(await t.user(), { type: 'service' });
    for (const client_id of [client.client_id, confidential.client_id, open.client_id, agent.id, 'cli_x', '\u0000']) {
      const r = await form(t, '/oauth/introspect', { ...fields, client_id });
      expect([r.status, r.body.error], client_id).toEqual([401, 'invalid_client']);
      expect(r.headers.get('www-authenticate') ?? '').not.toMatch(/bearer/i);
    }
    expect(
      (await form(t, '/oauth/introspect', { ...fields, client_id: open.client_id, client_secret: 'x' })).status,
    ).toBe(401);
    expect(
      (await form(t, '/oauth/introspect', fields, { authorization: `Basic ${btoa(`${open.client_id}:`)}` })).status,
    ).toBe(401);
    expect((await form(t, '/oauth/introspect', fields, { authorization: `Bearer ${person.token}` })).status).toBe(403);
    expect((await form(t, '/oauth/introspect', fields, { authorization: 'Bearer x' })).status).toBe(401);
    expect((await form(t, '/oauth/introspect', {}, basic(client))).body.error).toBe('invalid_request');
  });
});

describe('/oauth/grants', () => {
  it('lists the grants of the person, and all grants for an admin', async () => {
    const someone = await signUp(t);
    const app = await register(t, { client_name: 'Listed' });
    const got = await tokens(t, someone, app);
    const r = await t.call('GET', '/oauth/grants', { as: someone });
    expect(r.status).toBe(200);
    expect(r.body).toEqual([
      {
        id: expect.stringMatching(/^grt_/),
        clientId: app.client_id,
        clientName: 'Listed',
        userId: someone.id,
        agentId: claimsOf(got.access_token).sub,
        agentName: 'Listed',
        kind: 'authorization_code',
        scopes: ['mcp:read', 'mcp:execute'],
        resource: 'http://localhost:3000',
        createdAt: expect.any(String),
        lastUsedAt: expect.any(String),
        expiresAt: expect.any(String),
      },
    ]);
    expect((await t.call('GET', '/oauth/grants?limit=1000', { as: admin })).body.map((g: Json) => g.id)).toContain(
      r.body[0].id,
    );
    expect((await t.call('GET', '/oauth/grants')).status).toBe(401);
  });

  it('ends a grant with its tokens, consent and unused code; returns 404 for a grant of another person', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const got = await tokens(t, someone, app, { scope: 'agents:read' });
    const request = ask(app, { scope: 'agents:read' });
    const pending = await code(t, someone, request).catch(() => '');
    const [grant] = (await t.call('GET', '/oauth/grants', { as: someone })).body;
    expect((await t.call('DELETE', `/oauth/grants/${grant.id}`, { as: person })).status).toBe(404);
    expect((await t.call('DELETE', `/oauth/grants/${grant.id}`)).status).toBe(401);
    expect((await t.call('DELETE', `/oauth/grants/${grant.id}`, { as: someone })).status).toBe(204);
    await expectEnded(app, got);
    expect((await exchange(t, request, pending)).body.error).toBe('invalid_grant');
    expect((await opened(t, authorizePath(request), { as: someone })).status).toBe(200);
    for (const id of [grant.id, 'grt_x', '%00'])
      expect((await t.call('DELETE', `/oauth/grants/${id}`, { as: someone })).status).toBe(404);
  });
});

describe('what ends a grant', () => {
  const ways: [string, (o: { someone: Person; app: Json; agentId: string }) => Promise<unknown>][] = [
    ['its agent is revoked', ({ someone, agentId }) => t.call('DELETE', `/agents/${agentId}`, { as: someone })],
    ['its client is deleted', ({ app }) => t.call('DELETE', `/oauth/clients/${app.client_id}`, { as: admin })],
    ['the person is deleted', ({ someone }) => t.call('DELETE', `/users/${someone.id}`, { as: admin })],
    [
      'an admin ends it',
      async ({ someone }) =>
        t.call('DELETE', `/oauth/grants/${(await t.call('GET', '/oauth/grants', { as: someone })).body[0].id}`, {
          as: admin,
        }),
    ],
  ];
  it.each(ways)('[ASVS 5.0 10.4.9] a grant and its tokens end when %s', async (_what, end) => {
    const someone = await signUp(t);
    const app = await register(t);
    const got = await tokens(t, someone, app, { scope: 'agents:read' });
    expect(await isValid(got.access_token)).toBe(true);
    await end({ someone, app, agentId: claimsOf(got.access_token).sub });
    await expectEnded(app, got);
    const consents = t.legate.platform.database.read
      .selectFrom('oauth_consents')
      .selectAll()
      .where('user_id', '=', someone.id);
    expect(await consents.execute()).toEqual([]);
  });

  it('a grant is invalid while its agent is expired, and not for longer', async () => {
    const own = await createTestService();
    const someone = await signUp(own);
    const app = await register(own);
    const got = await tokens(own, someone, app);
    const path = `/agents/${claimsOf(got.access_token).sub}`;
    const at = (ms: number) => new Date(own.clock.now() + ms).toISOString();
    await own.call('PATCH', path, { as: someone, body: { expiresAt: at(1000) } });
    own.clock.advance(1000);
    expect((await own.legate.mcp.validateToken(got.access_token)).valid).toBe(false);
    expect((await refreshWith(own, app, got.refresh_token)).body.error).toBe('invalid_grant');
    await own.call('PATCH', path, { as: someone, body: { expiresAt: at(100_000) } });
    expect((await refreshWith(own, app, got.refresh_token)).status).toBe(200);
  });

  it('a code that was issued before the agent was revoked is refused', async () => {
    const someone = await signUp(t);
    const { sub } = claimsOf((await tokens(t, someone, client)).access_token);
    const request = ask(client);
    const pending = await code(t, someone, request);
    await t.call('DELETE', `/agents/${sub}`, { as: someone });
    const r = await exchange(t, request, pending);
    expect([r.status, r.body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: 'The agent of this grant is not active.' },
    ]);
  });

  it('signing out ends no grant', async () => {
    const someone = await signUp(t);
    const got = await tokens(t, someone, client);
    expect((await t.call('POST', '/sign-out', { as: someone })).status).toBe(204);
    expect(await isValid(got.access_token)).toBe(true);
  });

  it('each end is an event of the same change', async () => {
    const someone = await signUp(t);
    const got = await tokens(t, someone, client);
    const agentId = claimsOf(got.access_token).sub;
    await t.call('DELETE', `/agents/${agentId}`, { as: someone });
    const events = await eventsOf(t, agentId);
    expect(events.map((event) => event.type)).toEqual([
      'agent.created',
      'consent.remembered',
      'grant.created',
      'agent.revoked',
      'grant.revoked',
    ]);
    expect(events.at(-1)).toMatchObject({
      userId: someone.id,
      data: { grantId: expect.stringMatching(/^grt_/), clientId: client.client_id, agentId, reason: 'agent-revoked' },
    });
  });
});
