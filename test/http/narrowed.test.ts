import { beforeAll, describe, expect, it } from 'vitest';
import { agents } from '../../src/authorization/agents/index.ts';
import { eventsOf } from '../support/events.ts';
import { ask, code, exchange, type Person, register, signUp } from '../support/oauth.ts';
import { type Answered, createTestService, type Json, type TestAgent, type TestService } from '../support/service.ts';

const own = (name: string, ...actions: string[]) => ({ resource: `legate:${name}`, actions });
const pay = (constraints?: object) => ({
  resource: 'bank:*',
  actions: ['pay'],
  ...(constraints ? { constraints } : {}),
});

/** Credentials with fewer rights than a person. Each can write agents and delegations. */
const CREDENTIALS = ['an API token with scopes', 'an access token', 'a gateway agent'] as const;
type Name = (typeof CREDENTIALS)[number];

let t: TestService;
let person: Person;
const tokens = new Map<Name, { token: string; acts?: string }>();

beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { agents: { maxPerOwner: 10_000 } } });
  person = await signUp(t);
  const scopes = ['agents:read', 'agents:write', 'delegations:write'];
  const client = await register(t);
  const asked = ask(client, { scope: scopes.join(' ') });
  const { access_token } = (await exchange(t, asked, await code(t, person, asked))).body;
  const [{ agentId }] = (await t.call('GET', '/oauth/grants', { as: person })).body;
  const gateway = await t.agent(person, {
    permissions: [own('agents', 'read', 'write'), own('delegations', 'read', 'write')],
  });
  tokens.set('an API token with scopes', { token: await t.apiToken(person.id, scopes) });
  tokens.set('an access token', { token: access_token, acts: agentId });
  tokens.set('a gateway agent', { token: gateway.token, acts: gateway.id });
});

const create = (as: string, ...permissions: object[]): Promise<Answered> =>
  t.call('POST', '/agents', { as, body: { ownerId: person.id, name: 'n', type: 'service', permissions } });
const patch = (as: string, id: string, body: object): Promise<Answered> =>
  t.call('PATCH', `/agents/${id}`, { as, body });
const outcome = (r: Answered): Json => r.body?.error?.code ?? r.status;
const INSUFFICIENT = 'INSUFFICIENT_PERMISSIONS';

describe.each(CREDENTIALS)('%s', (name) => {
  const credential = () => tokens.get(name) as { token: string; acts?: string };
  const agentWith = (...permissions: object[]): Promise<TestAgent> => t.agent(person, { permissions });

  it('can register agents, but none with rights on the service or without constraints that it has itself', async () => {
    const { token } = credential();
    expect(outcome(await create(token, { resource: 'mcp:github:*', actions: ['*'] }))).toBe(201);
    expect(outcome(await create(token, own('agents', 'write')))).toBe(201);
    for (const permission of [
      own('*', '*'),
      own('audit', 'read'),
      own('agents', 'write', 'delete'),
      own('webhooks', 'write'),
      { resource: '*', actions: ['read'] },
      { resource: '*:*', actions: ['*'] },
      { resource: '*:x', actions: ['read'] },
    ]) {
      const r = await create(token, { resource: 'db:x', actions: ['read'] }, permission);
      expect([outcome(r), r.body.error.details.path]).toEqual([INSUFFICIENT, 'permissions.1']);
      expect((await create(person.token, permission)).status).toBe(201);
    }
  });

  it('can change and rotate agents, but none with more rights than it has', async () => {
    const { token } = credential();
    const plain = await agentWith({ resource: 'db:x', actions: ['read'] });
    const powerful = await agentWith(own('audit', 'read'));
    const unbounded = await agentWith({ resource: '*', actions: ['*'] });
    const receiver = await t.agent(person);
    await t.call('POST', '/delegations', {
      as: person,
      body: { fromAgent: unbounded.id, toAgent: receiver.id, permissions: [{ resource: '*', actions: ['read'] }] },
    });
    const rotate = (id: string) => t.call('POST', `/agents/${id}/rotate`, { as: token });
    expect(outcome(await patch(token, plain.id, { name: 'x' }))).toBe(200);
    expect(outcome(await patch(token, plain.id, { permissions: [own('audit', 'read')] }))).toBe(INSUFFICIENT);
    expect(outcome(await rotate(plain.id))).toBe(200);
    for (const { id } of [powerful, receiver, unbounded]) {
      expect(outcome(await patch(token, id, { name: 'x' }))).toBe(INSUFFICIENT);
      expect(outcome(await patch(token, id, { permissions: [] }))).toBe(INSUFFICIENT);
      expect(outcome(await rotate(id))).toBe(INSUFFICIENT);
      expect((await patch(person.token, id, { name: 'x' })).status).toBe(200);
      // Ending an agent requires no further rights.
      expect(outcome(await t.call('DELETE', `/agents/${id}`, { as: token }))).toBe(204);
    }
  });

  it('cannot remove constraints from an agent, neither directly nor in two steps', async () => {
    const { token } = credential();
    const guarded = pay({ requireApproval: true });
    const capped = { resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 5 } };
    const { id } = await agentWith(guarded, capped);
    const set = async (...permissions: object[]) => outcome(await patch(token, id, { permissions }));
    expect(await set(pay(), capped)).toBe(INSUFFICIENT);
    expect(await set(guarded, pay(), capped)).toBe(INSUFFICIENT);
    expect(await set(guarded, { resource: 'bank:x', actions: ['pay'] }, capped)).toBe(INSUFFICIENT);
    expect(await set(capped)).toBe(INSUFFICIENT);
    expect(await set(guarded, { ...capped, constraints: { maxCallsPerHour: 6 } })).toBe(INSUFFICIENT);
    expect(await set(guarded, { ...capped, constraints: { maxCallsPerHour: 4 } })).toBe(200);
    expect(await set(guarded, { ...capped, constraints: { maxCallsPerHour: 4 } }, pay({ requireApproval: true }))).toBe(
      200,
    );
    expect(outcome(await patch(person.token, id, { permissions: [pay()] }))).toBe(200);
  });

  it('cannot raise a limit on calls by several entries with the limit, nor by changing what it counts', async () => {
    const { token } = credential();
    const entry = (resource: string, maxCallsPerHour: number, actions = ['read', 'write']) => ({
      resource,
      actions,
      constraints: { maxCallsPerHour },
    });
    const [all, one] = [entry('db:*', 10), entry('db:x', 100)];
    const { id } = await agentWith(all, one);
    const set = async (...permissions: object[]) => outcome(await patch(token, id, { permissions }));
    expect(await set(all, all, one)).toBe(INSUFFICIENT);
    expect(await set(all, one, entry('db:y', 5))).toBe(INSUFFICIENT);
    expect(await set(all, ...Array(5).fill(one))).toBe(INSUFFICIENT);
    expect(await set(...Array(11).fill(all))).toBe(INSUFFICIENT);
    expect(await set(entry('db:*', 10, ['read']), entry('db:*', 10, ['write']), one)).toBe(INSUFFICIENT);
    expect(await set(entry('db:a', 10), entry('db:b', 10), one)).toBe(INSUFFICIENT);
    expect(await set(one, all)).toBe(200);
    expect(await set(entry('db:*', 8), one)).toBe(200);
    const asking = { resource: 'db:*', actions: ['read', 'write'], constraints: { requireApproval: true } };
    const both = await agentWith(all, asking);
    const setBoth = async (...permissions: object[]) => outcome(await patch(token, both.id, { permissions }));
    expect(await setBoth(all, all, asking)).toBe(INSUFFICIENT);
    expect(await setBoth(asking, all)).toBe(INSUFFICIENT);
    // Each of these would begin to count at 0.
    expect(await set(entry('db:*', 5, ['read']), entry('db:*', 3, ['write']), one)).toBe(INSUFFICIENT);
    expect(await set(entry('db:*', 8, ['read', 'write', 'x']), one)).toBe(INSUFFICIENT);
    expect(await set(entry('db:a', 8), one)).toBe(INSUFFICIENT);
    expect(await set(entry('db:*', 8, ['write', 'read']), one, entry('fs:x', 3))).toBe(200);
  });

  it('can remove an entry without constraints, whether or not it has an empty object of them', async () => {
    const { token } = credential();
    const { id } = await agentWith(
      { resource: 'db:*', actions: ['read'], constraints: {} },
      { resource: 'fs:*', actions: ['read'] },
    );
    expect(outcome(await patch(token, id, { permissions: [] }))).toBe(200);
  });

  it('can delegate constrained permissions between agents of the person', async () => {
    const { token } = credential();
    const from = await agentWith({ resource: '*', actions: ['*'] });
    const to = await t.agent(person);
    const delegate = async (toAgent: string, permission: object) =>
      outcome(
        await t.call('POST', '/delegations', {
          as: token,
          body: { fromAgent: from.id, toAgent, permissions: [permission] },
        }),
      );
    expect(await delegate(to.id, { resource: 'db:x', actions: ['read'] })).toBe(201);
    expect(await delegate(to.id, { resource: '*', actions: ['read'] })).toBe(INSUFFICIENT);
    expect(await delegate(to.id, own('audit', 'read'))).toBe(INSUFFICIENT);
  });

  it('cannot change the agent as which it acts, and approves nothing', async () => {
    const { token, acts } = credential();
    if (acts !== undefined) {
      expect(outcome(await patch(token, acts, { name: 'x' }))).toBe('FORBIDDEN');
      expect(outcome(await t.call('POST', `/agents/${acts}/rotate`, { as: token }))).toBe('FORBIDDEN');
      const { id: fromAgent } = await agentWith({ resource: 'db:*', actions: ['read'] });
      const permissions = [{ resource: 'db:x', actions: ['read'] }];
      const r = await t.call('POST', '/delegations', { as: token, body: { fromAgent, toAgent: acts, permissions } });
      expect(outcome(r)).toBe('FORBIDDEN');
    }
    const agent = await agentWith(pay({ requireApproval: true }));
    const { approvalId } = (await t.authorize(agent, { action: 'pay', resource: 'bank:x' })).body;
    for (const as of [token, agent.token])
      expect(outcome(await t.call('POST', `/approvals/${approvalId}/approve`, { as }))).toBe('FORBIDDEN');
  });
});

it.each(['an API token with scopes', 'an access token'] as const)(
  'to %s, 403 names the scope that is missing, and no details where no scope helps',
  async (name) => {
    const { token } = tokens.get(name) as { token: string };
    const refusal = async (method: string, path: string, body?: object): Promise<Json> => {
      const r = await t.call(method, path, { as: token, ...(body ? { body } : {}) });
      expect([r.status, r.body.error.code]).toEqual([403, 'FORBIDDEN']);
      return r.body.error.details;
    };
    expect(await refusal('GET', '/audit')).toEqual({ scope: 'audit:read' });
    for (const path of ['/costs', '/costs/summary', '/budgets', '/webhooks', '/approvals', '/oauth/grants', '/users'])
      expect([path, await refusal('GET', path)]).toEqual([path, undefined]);
    expect(await refusal('POST', '/webhooks', { url: 'https://app.example/in' })).toBeUndefined();
  },
);

describe('agents that a narrowed credential registers', () => {
  it('record it, and end with its grant, as do those that they registered; those of an API token remain', async () => {
    const scopes = 'agents:read agents:write';
    const client = await register(t);
    const asked = ask(client, { scope: scopes });
    const { access_token } = (await exchange(t, asked, await code(t, person, asked))).body;
    const grants: Json[] = (await t.call('GET', '/oauth/grants', { as: person })).body;
    const grant = grants.find((g) => g.clientId === client.client_id);
    const first = (await create(access_token, own('agents', 'read', 'write'))).body;
    const second = (await create(first.token)).body;
    const apiToken = (
      await t.call('POST', '/api-tokens', { as: person, body: { name: 'x', scopes: ['agents:write'] } })
    ).body;
    const third = (await create(apiToken.token)).body;
    const fourth = (await create(person.token)).body;
    const made = [first, second, third, fourth];
    expect(made.map((a) => a.createdBy)).toEqual([grant.id, first.id, apiToken.id, null]);
    expect((await t.call('GET', '/agents', { as: first.token })).status).toBe(200);
    expect((await t.call('DELETE', `/oauth/grants/${grant.id}`, { as: person })).status).toBe(204);
    await t.call('DELETE', `/api-tokens/${apiToken.id}`, { as: person });
    const status = async (a: Json) => (await t.call('GET', `/agents/${a.id}`, { as: person })).body.status;
    expect(await Promise.all(made.map(status))).toEqual(['revoked', 'revoked', 'active', 'active']);
    expect((await t.call('GET', '/agents', { as: first.token })).status).toBe(401);
  });

  it('are revoked by upkeep once their grant has expired, and only then', async () => {
    const s = await createTestService();
    const owner = await signUp(s);
    const client = await register(s);
    const asked = ask(client, { scope: 'agents:write' });
    const { access_token } = (await exchange(s, asked, await code(s, owner, asked))).body;
    const body = { ownerId: owner.id, name: 'n', type: 'service', permissions: [] };
    const { id, token } = (await s.call('POST', '/agents', { as: access_token, body })).body;
    const kept = await s.agent(owner);
    const { database, clock } = s.legate.platform;
    const { expires_at } = await database.read
      .selectFrom('oauth_grants')
      .select('expires_at')
      .executeTakeFirstOrThrow();
    const statuses = async (): Promise<string[]> => {
      await agents.upkeep?.(s.legate.platform);
      return Promise.all([id, kept.id].map(async (a) => (await s.legate.agents.get(a)).status));
    };
    s.clock.advance(Number(expires_at) - clock.now() - 1);
    expect(await statuses()).toEqual(['active', 'active']);
    s.clock.advance(1);
    expect(await statuses()).toEqual(['revoked', 'active']);
    expect((await s.call('GET', `/agents/${id}`, { as: token })).status).toBe(401);
    expect(await statuses()).toEqual(['revoked', 'active']);
    const revoked = (await eventsOf(s, id)).filter((e) => e.type === 'agent.revoked');
    expect(revoked.map((e) => e.data)).toEqual([{ agentId: id, reason: 'grant-ended' }]);
  });
});

describe('an agent that manages its own objects', () => {
  it('can create and change webhooks only while it may read events', async () => {
    const webhooks = own('webhooks', 'read', 'write');
    const agent = await t.agent(person, { permissions: [webhooks] });
    const hook = (as: string) =>
      t.call('POST', '/webhooks', { as, body: { url: 'https://example.com/hook', types: ['agent.created'] } });
    const refused = await hook(agent.token);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect((await t.call('GET', '/webhooks', { as: person })).body).toEqual([]);

    await patch(person.token, agent.id, { permissions: [webhooks, own('events', 'read')] });
    const made = await hook(agent.token);
    expect(made.status, made.text).toBe(201);
    const change = () =>
      t.call('PATCH', `/webhooks/${made.body.id}`, { as: agent.token, body: { types: ['agent.revoked'] } });
    expect(outcome(await change())).toBe(200);

    await patch(person.token, agent.id, { permissions: [webhooks] });
    expect(outcome(await change())).toBe('FORBIDDEN');
    expect(outcome(await hook(agent.token))).toBe('FORBIDDEN');
    expect((await t.call('DELETE', `/webhooks/${made.body.id}`, { as: person })).status).toBe(204);
  });

  it("cannot raise or remove its own budgets, but those of its owner's other agents", async () => {
    const budgets = own('budgets', 'read', 'write');
    const [agent, other] = [await t.agent(person, { permissions: [budgets] }), await t.agent(person)];
    const budget = async (agentId: string) => {
      const body = { agentId, metric: 'calls', window: 'day', limit: 5, onExceed: 'deny' };
      const made = await t.call('POST', '/budgets', { as: person, body });
      expect(made.status, made.text).toBe(201);
      return made.body.id as string;
    };
    const [mine, theirs] = [await budget(agent.id), await budget(other.id)];
    const change = (id: string) => t.call('PATCH', `/budgets/${id}`, { as: agent.token, body: { limit: 1000 } });
    const remove = (id: string) => t.call('DELETE', `/budgets/${id}`, { as: agent.token });
    expect([outcome(await change(mine)), outcome(await remove(mine))]).toEqual(['FORBIDDEN', 'FORBIDDEN']);
    expect((await t.call('GET', `/budgets/${mine}`, { as: person })).body).toMatchObject({ limit: 5 });
    expect([outcome(await change(theirs)), outcome(await remove(theirs))]).toEqual([200, 204]);
  });
});
