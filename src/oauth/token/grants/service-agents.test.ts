import { beforeAll, describe, expect, it } from 'vitest';
import { claimsOf, form, type Person, register, signUp, tokens } from '../../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../test/support/service.ts';
import { protectMcp } from '../../../mcp/guard/protect.ts';
import { ACCESS_TOKEN_TYPE, AGENT_TOKEN_TYPE } from '../token-request.ts';

const NOTES = 'https://notes.example/mcp';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

let t: TestService;
let alice: TestUser;
let admin: TestUser;
let client: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  alice = await t.user();
  admin = await t.admin();
  client = await register(t);
  await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'notes', endpoint: NOTES, tools: ['search'] } });
});
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });
const service = (more: Json = {}) => t.agent(alice, { type: 'service', ...more });
const ask = (agent: { id: string; token: string }, more: Record<string, string> = {}) =>
  form(t, '/oauth/token', {
    grant_type: 'client_credentials',
    client_id: agent.id,
    client_secret: agent.token,
    ...more,
  });
const valid = async (token: string, audience?: string) =>
  (await t.legate.mcp.validateToken(token, audience === undefined ? {} : { audience })).valid;

describe('grant_type=client_credentials', () => {
  it('[RFC 6749 4.4; MCP ext-auth client credentials] a service agent gets its token, no refresh token', async () => {
    const agent = await service();
    for (const r of [
      await ask(agent),
      await form(t, '/oauth/token', { grant_type: 'client_credentials' }, basic(agent.id, agent.token)),
    ]) {
      expect(r.status, r.text).toBe(200);
      expect(r.body).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'mcp:read mcp:execute',
      });
      expect(claimsOf(r.body.access_token)).toMatchObject({ sub: agent.id, client_id: agent.id, user_id: alice.id });
    }
    const narrow = (await ask(agent, { scope: 'mcp:read', resource: `${NOTES}/` })).body;
    expect(claimsOf(narrow.access_token)).toMatchObject({ aud: NOTES, scope: 'mcp:read' });
    expect(await valid(narrow.access_token, NOTES)).toBe(true);
  });

  it.each<[string, (agent: Json, other: Json) => [Record<string, string>, Record<string, string>], number, string]>([
    ['a wrong secret', () => [{ client_secret: 'lgt_x' }, {}], 401, 'invalid_client'],
    ['no secret', () => [{ client_secret: '' }, {}], 401, 'invalid_client'],
    ['the token of another agent', (_, other) => [{ client_secret: other.token }, {}], 401, 'invalid_client'],
    ['an unknown agent', () => [{ client_id: 'agt_00000000000000000000000000' }, {}], 401, 'invalid_client'],
    [
      'a client',
      () => [{ client_id: client.client_id, client_secret: client.client_secret }, {}],
      400,
      'unauthorized_client',
    ],
    ['two ways to authenticate', (agent) => [{}, basic(agent.id, agent.token)], 400, 'invalid_request'],
    ['a scope for what people own', () => [{ scope: 'agents:write' }, {}], 400, 'invalid_scope'],
    ['an unknown scope', () => [{ scope: 'x' }, {}], 400, 'invalid_scope'],
    ['an unknown resource', () => [{ resource: 'https://elsewhere.example' }, {}], 400, 'invalid_target'],
  ])('[RFC 6749 5.2] client credentials are refused with %s', async (_what, change, status, error) => {
    const [fields, headers] = change(await service(), await service());
    const agent = await service();
    const r = await form(
      t,
      '/oauth/token',
      { grant_type: 'client_credentials', client_id: agent.id, client_secret: agent.token, ...fields },
      headers,
    );
    expect([r.status, r.body.error], r.text).toEqual([status, error]);
  });

  it('is allowed for active agents of type service only', async () => {
    const autonomous = await t.agent(alice);
    expect((await ask(autonomous)).body.error).toBe('unauthorized_client');
    const agent = await service();
    const { access_token } = (await ask(agent)).body;
    await t.call('DELETE', `/agents/${agent.id}`, { as: alice });
    expect(await valid(access_token)).toBe(false);
    expect((await ask(agent)).status).toBe(401);
  });

  it('ends its grants when the agent token is rotated', async () => {
    const agent = await service();
    const { access_token } = (await ask(agent)).body;
    const { token } = (await t.call('POST', `/agents/${agent.id}/rotate`, { as: alice })).body;
    expect(await valid(access_token)).toBe(false);
    expect((await ask(agent)).status).toBe(401);
    expect((await ask({ id: agent.id, token })).status).toBe(200);
  });

  it('[RFC 7009 2.1; RFC 7662 2.1] a service agent revokes and introspects its own tokens', async () => {
    const agent = await service();
    const other = await service();
    const { access_token } = (await ask(agent)).body;
    expect(
      (await form(t, '/oauth/introspect', { token: access_token }, basic(agent.id, agent.token))).body,
    ).toMatchObject({ active: true, sub: agent.id });
    expect((await form(t, '/oauth/introspect', { token: access_token }, basic(agent.id, 'x'))).status).toBe(401);
    expect((await form(t, '/oauth/revoke', { token: access_token }, basic(other.id, other.token))).status).toBe(200);
    expect(await valid(access_token)).toBe(true);
    const granted = async (): Promise<Json[]> =>
      (await t.call('GET', '/oauth/grants', { as: alice })).body.filter((g: Json) => g['agentId'] === agent.id);
    expect(await granted()).toHaveLength(1);
    expect((await form(t, '/oauth/revoke', { token: access_token }, basic(agent.id, agent.token))).status).toBe(200);
    expect(await valid(access_token)).toBe(false);
    expect(await granted()).toEqual([]);
  });
});

describe('client_credentials of a registered client', () => {
  it('[RFC 6749 5.2] client_credentials: 400 unauthorized_client, and unauthenticated 401 invalid_client', async () => {
    const fields = { grant_type: 'client_credentials' };
    const none = await register(t, { token_endpoint_auth_method: 'none' });
    for (const [id, secret, status, error] of [
      [client.client_id, client.client_secret, 400, 'unauthorized_client'],
      [client.client_id, 'lgc_wrong', 401, 'invalid_client'],
      [none.client_id, undefined, 400, 'unauthorized_client'],
      [none.client_id, 'x', 401, 'invalid_client'],
      ['cli_00000000000000000000000000', 'x', 401, 'invalid_client'],
    ] as const) {
      const r = await form(t, '/oauth/token', {
        ...fields,
        client_id: id,
        ...(secret === undefined ? {} : { client_secret: secret }),
      });
      expect([r.status, r.body.error]).toEqual([status, error]);
    }
    const r = await form(t, '/oauth/token', fields, basic(client.client_id, client.client_secret));
    expect([r.status, r.body.error, r.headers.get('www-authenticate')]).toEqual([400, 'unauthorized_client', null]);
  });
});

describe('token exchange', () => {
  let someone: Person;
  let subject: Json;
  beforeAll(async () => {
    someone = await signUp(t);
    subject = await tokens(t, someone, client);
  });
  const actorOf = async (owner: { id: string; token: string } = someone, more: Json = {}) =>
    (
      await t.call('POST', '/agents', {
        as: owner,
        body: { ownerId: owner.id, name: 'actor', type: 'delegated', ...more },
      })
    ).body as Json;
  const exchange = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    form(
      t,
      '/oauth/token',
      { grant_type: EXCHANGE, subject_token: subject.access_token, subject_token_type: ACCESS_TOKEN_TYPE, ...fields },
      headers,
    );

  it('[RFC 8693 2.2.1 and 4.1] an exchange keeps the subject, names the actor, and creates a delegation', async () => {
    const actor = await actorOf();
    const r = await exchange({ actor_token: actor.token, actor_token_type: AGENT_TOKEN_TYPE, scope: 'mcp:read' });
    expect(r.status, r.text).toBe(200);
    expect(r.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      issued_token_type: ACCESS_TOKEN_TYPE,
      expires_in: 3600,
      scope: 'mcp:read',
    });
    const { sub } = claimsOf(subject.access_token);
    expect(claimsOf(r.body.access_token)).toMatchObject({
      sub,
      act: { sub: actor.id },
      scope: 'mcp:read',
      client_id: client.client_id,
      user_id: someone.id,
    });
    const delegations = (await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body;
    expect(delegations).toMatchObject([
      { fromAgent: sub, toAgent: actor.id, depth: 1, permissions: [{ resource: 'mcp:*', actions: ['read'] }] },
    ]);
    expect(
      (await t.authorize(actor.token, { agentId: actor.id, action: 'read', resource: 'mcp:notes:search' })).body
        .allowed,
    ).toBe(true);
    expect(
      (await t.authorize(actor.token, { agentId: actor.id, action: 'execute', resource: 'mcp:notes:search' })).body
        .allowed,
    ).toBe(false);
  });

  it('[RFC 8693 4.1] an exchange nests the actors of a chain, and never adds scopes', async () => {
    const [b, c] = [await actorOf(), await actorOf()];
    const first = (await exchange({ actor_token: b.token, scope: 'mcp:read' })).body;
    const second = await exchange({ subject_token: first.access_token, actor_token: c.token });
    expect(second.status, second.text).toBe(200);
    expect(claimsOf(second.body.access_token)).toMatchObject({
      sub: claimsOf(subject.access_token).sub,
      scope: 'mcp:read',
      act: { sub: c.id, act: { sub: b.id } },
    });
    expect(
      (await exchange({ subject_token: first.access_token, actor_token: c.token, scope: 'mcp:execute' })).body.error,
    ).toBe('invalid_scope');
    expect((await t.call('GET', `/delegations?toAgent=${c.id}`, { as: someone })).body).toMatchObject([
      { fromAgent: b.id, depth: 2 },
    ]);
  });

  it.each<[string, (actor: Json) => Promise<Record<string, string>> | Record<string, string>, string]>([
    ['no subject token', () => ({ subject_token: '' }), 'invalid_request'],
    ['no subject token type', () => ({ subject_token_type: '' }), 'invalid_request'],
    [
      'another subject token type',
      () => ({ subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }),
      'invalid_request',
    ],
    ['an invalid subject token', () => ({ subject_token: 'a.b.c' }), 'invalid_request'],
    ['an agent token as subject', (actor) => ({ subject_token: actor.token }), 'invalid_request'],
    ['no actor token', () => ({ actor_token: '' }), 'invalid_request'],
    ['an unknown actor token', () => ({ actor_token: 'lgt_x' }), 'invalid_request'],
    ['another actor token type', () => ({ actor_token_type: 'urn:x' }), 'invalid_request'],
    [
      'another requested type',
      () => ({ requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }),
      'invalid_request',
    ],
    [
      'an actor of another person',
      async () => ({ actor_token: (await actorOf(await t.user())).token }),
      'invalid_request',
    ],
    ['an additional scope', () => ({ scope: 'mcp:read agents:write' }), 'invalid_scope'],
    ['another resource', () => ({ resource: NOTES }), 'invalid_target'],
    ['an unknown audience', () => ({ audience: 'https://elsewhere.example' }), 'invalid_target'],
    [
      'another audience next to the right resource',
      () => ({ resource: t.legate.platform.audience, audience: NOTES }),
      'invalid_target',
    ],
  ])('[RFC 8693 2.2.2] an exchange is 400 for %s', async (_what, change, error) => {
    const actor = await actorOf();
    const r = await exchange({ actor_token: actor.token, ...(await change(actor)) });
    expect([r.status, r.body.error], r.text).toEqual([400, error]);
  });

  it('refuses a client that names itself without authenticating', async () => {
    const actor = await actorOf();
    expect((await exchange({ actor_token: actor.token, client_id: 'cli_x' })).status).toBe(401);
    expect((await exchange({ actor_token: actor.token }, basic(client.client_id, 'x'))).status).toBe(401);
    expect((await exchange({ actor_token: actor.token }, basic(client.client_id, client.client_secret))).status).toBe(
      200,
    );
  });

  it('[RFC 8693 4.1] an exchange of an exchange ends when an agent between, or the subject, expires', async () => {
    for (const which of ['between', 'subject'] as const) {
      const source = await tokens(t, someone, client, { prompt: 'consent' });
      const [b, c] = [await actorOf(), await actorOf()];
      const first = (await exchange({ subject_token: source.access_token, actor_token: b.token })).body;
      const second = (await exchange({ subject_token: first.access_token, actor_token: c.token })).body;
      const introspected = async () =>
        (
          await form(
            t,
            '/oauth/introspect',
            { token: second.access_token },
            basic(client.client_id, client.client_secret),
          )
        ).body;
      expect([await valid(second.access_token), (await introspected()).active]).toEqual([true, true]);
      const ends = which === 'between' ? b.id : claimsOf(source.access_token).sub;
      await t.call('PATCH', `/agents/${ends}`, {
        as: someone,
        body: { expiresAt: new Date(t.clock.now() + 1000).toISOString() },
      });
      expect(await valid(second.access_token), which).toBe(true);
      t.clock.advance(1000);
      expect(await valid(second.access_token), which).toBe(false);
      expect(await introspected()).toEqual({ active: false });
      expect((await t.call('GET', `/delegations?toAgent=${c.id}`, { as: someone })).body, which).toEqual([]);
    }
  });

  it('a guarded server decides calls for the actor, by the delegation, and the audit names it', async () => {
    const source = await tokens(t, someone, client, { prompt: 'consent', resource: NOTES });
    const actor = await actorOf();
    const got = (await exchange({ subject_token: source.access_token, actor_token: actor.token, scope: 'mcp:execute' }))
      .body;
    const validation = await t.legate.mcp.validateToken(got.access_token, { audience: NOTES });
    const { sub } = claimsOf(source.access_token);
    expect(validation).toMatchObject({ valid: true, agentId: sub, actorId: actor.id });
    const guarded = protectMcp(async () => Response.json({ jsonrpc: '2.0', id: 1, result: {} }), {
      legate: t.legate,
      server: { name: 'notes', endpoint: NOTES },
    });
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search', arguments: {} },
    });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${got.access_token}` };
    expect((await (await guarded(new Request(NOTES, { method: 'POST', headers, body }))).json()).result).toEqual({});
    const [delegation] = (await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body;
    const [entry] = (await t.call('GET', '/audit?limit=1', { as: someone })).body;
    expect(entry).toMatchObject({
      agentId: actor.id,
      resource: 'mcp:notes:search',
      result: 'allowed',
      delegationIds: [delegation.id],
    });
  });

  describe('with an exchanged token at the REST API', () => {
    /** Returns an actor without own permissions, and its exchanged token with these scopes. */
    const exchanged = async (scope: string, owner: { id: string; token: string } = someone) => {
      const source = await tokens(t, someone, client, { prompt: 'consent', scope: 'mcp:read mcp:execute authorize' });
      const actor = await actorOf(owner);
      const r = await exchange({ subject_token: source.access_token, actor_token: actor.token, scope });
      expect(r.status, r.text).toBe(200);
      return { actor, subjectId: claimsOf(source.access_token).sub as string, token: r.body.access_token as string };
    };
    const question = (action: string, more: Json = {}) => ({ action, resource: 'mcp:notes:search', ...more });
    const newest = async (count: number) =>
      (await t.call('GET', `/audit?limit=${count}`, { as: someone })).body as Json[];

    it('[RFC 8693 4.1] an exchanged token authorizes the actor, by its delegation; both are recorded', async () => {
      const { actor, subjectId, token } = await exchanged('mcp:execute authorize');
      const [delegation] = (await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body;
      expect(delegation).toMatchObject({ fromAgent: subjectId, toAgent: actor.id });
      expect((await t.authorize(token, question('execute'))).body.allowed).toBe(true);
      expect((await t.authorize(token, question('execute', { agentId: actor.id }))).body.allowed).toBe(true);
      const batch = await t.call('POST', '/authorize/batch', { as: token, body: { requests: [question('execute')] } });
      expect(batch.body.results).toMatchObject([{ allowed: true }]);
      for (const entry of await newest(3))
        expect(entry).toMatchObject({ agentId: actor.id, result: 'allowed', delegationIds: [delegation.id] });
    });

    it('[RFC 8693 4.1] scopes and delegation limit an exchanged token, whatever the subject may do', async () => {
      const { actor, subjectId, token } = await exchanged('mcp:read authorize');
      expect((await t.authorize(someone.token, question('execute', { agentId: subjectId }))).body.allowed).toBe(true);
      expect((await t.authorize(token, question('read'))).body.allowed).toBe(true);
      expect((await t.authorize(token, question('execute'))).body).toMatchObject({
        allowed: false,
        reason: 'NO_PERMISSION',
      });
      expect((await newest(1))[0]).toMatchObject({ agentId: actor.id, action: 'execute', result: 'denied' });
    });

    it('returns 403 without the scope authorize', async () => {
      expect((await t.authorize((await exchanged('mcp:execute')).token, question('execute'))).status).toBe(403);
    });
  });

  it.each<[string, (o: { source: Json; got: Json; actor: Json }) => Promise<unknown>]>([
    [
      'the source token is revoked',
      ({ source }) => form(t, '/oauth/revoke', { token: source.access_token, client_id: client.client_id }),
    ],
    [
      'the grant of the source ends',
      ({ source }) => form(t, '/oauth/revoke', { token: source.refresh_token, client_id: client.client_id }),
    ],
    ['the actor is revoked', ({ actor }) => t.call('DELETE', `/agents/${actor.id}`, { as: someone })],
    ['the actor’s token is rotated', ({ actor }) => t.call('POST', `/agents/${actor.id}/rotate`, { as: someone })],
    [
      'the subject agent is revoked',
      ({ got }) => t.call('DELETE', `/agents/${claimsOf(got.access_token).sub}`, { as: someone }),
    ],
    [
      'the delegation is revoked',
      async ({ actor }) => {
        const [delegation] = (await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body;
        await t.call('DELETE', `/delegations/${delegation.id}`, { as: someone });
      },
    ],
  ])('[ASVS 5.0 10.4.9] an exchanged token ends when %s', async (_what, end) => {
    const source = await tokens(t, someone, client, { prompt: 'consent' });
    const actor = await actorOf();
    const got = (await exchange({ subject_token: source.access_token, actor_token: actor.token })).body;
    expect(await valid(got.access_token)).toBe(true);
    await end({ source, got, actor });
    expect(await valid(got.access_token)).toBe(false);
    expect((await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body).toEqual([]);
  });
});
