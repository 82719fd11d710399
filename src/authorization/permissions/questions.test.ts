import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agent = await t.agent(owner, {
    name: 'first',
    permissions: [
      { resource: 'mcp:github:*', actions: ['execute'] },
      { resource: 'mcp:bank:pay', actions: ['execute'], constraints: { requireApproval: true } },
      { resource: 'mcp:capped:*', actions: ['execute'], constraints: { maxCallsPerHour: 1 } },
      { resource: 'mcp:never:*', actions: ['execute'], constraints: { maxCallsPerHour: 0 } },
      { resource: 'mcp:home:*', actions: ['execute'], constraints: { ipAllowlist: ['192.0.2.0/24'] } },
    ],
  });
});

describe('POST /agents/:id/permissions/filter', () => {
  const filter = (resources: string[], more: Json = {}, as: { token: string } | string = owner) =>
    t.call('POST', `/agents/${agent.id}/permissions/filter`, { as, body: { resources, action: 'execute', ...more } });

  it('200: resources that the agent may call, in order, also those that need approval or a later hour', async () => {
    await t.authorize(agent, { action: 'execute', resource: 'mcp:capped:x' });
    const r = await filter([
      'mcp:slack:post',
      'mcp:bank:pay',
      'mcp:github:merge',
      'mcp:capped:x',
      'mcp:never:x',
      'mcp:home:x',
      'mcp:github:list',
    ]);
    expect(r.body).toEqual({ resources: ['mcp:bank:pay', 'mcp:github:merge', 'mcp:capped:x', 'mcp:github:list'] });
    expect((await filter(['mcp:home:x'], { context: { ip: '192.0.2.9' } })).body.resources).toEqual(['mcp:home:x']);
    expect((await filter(['mcp:github:list'], { action: 'read' })).body.resources).toEqual([]);
    const child = await t.agent(owner);
    await t.call('POST', '/delegations', {
      as: owner,
      body: {
        fromAgent: agent.id,
        toAgent: child.id,
        permissions: [{ resource: 'mcp:github:list', actions: ['execute'] }],
      },
    });
    const byChild = await t.call('POST', `/agents/${child.id}/permissions/filter`, {
      as: child,
      body: { resources: ['mcp:github:list', 'mcp:github:merge'], action: 'execute' },
    });
    expect(byChild.body).toEqual({ resources: ['mcp:github:list'] });
  });

  it('200 for 1,000 resources; records, counts and requests nothing', async () => {
    const before = (await t.call('GET', '/audit?limit=1000', { as: owner })).body.length;
    const many = Array.from({ length: 1000 }, (_, i) => `mcp:${i % 2 ? 'github' : 'slack'}:tool${i}`);
    expect((await filter(many)).body.resources).toEqual(many.filter((_, i) => i % 2));
    expect((await t.call('GET', '/audit?limit=1000', { as: owner })).body.length).toBe(before);
    expect((await t.call('GET', '/approvals', { as: owner })).body).toEqual([]);
  });

  it('400 for too many resources or no action, 404 for an agent of another owner', async () => {
    expect((await filter(Array.from({ length: 1001 }, () => 'a'))).body.error.details.issues).toMatchObject([
      { path: 'resources' },
    ]);
    expect((await filter(['a'], { action: undefined })).body.error.details.issues).toMatchObject([{ path: 'action' }]);
    const stranger = await t.user();
    for (const resources of [[], ['mcp:github:list']])
      expect((await filter(resources, {}, stranger)).body.error.code).toBe('AGENT_NOT_FOUND');
  });
});

describe('GET /permissions/subjects', () => {
  it("200: returns the caller's agents that may make the call now, in pages", async () => {
    const user = await t.user();
    const holders: string[] = [];
    for (let i = 0; i < 5; i++) {
      holders.push(
        (await t.agent(user, { name: `holder ${i}`, permissions: [{ resource: 'db:orders:*', actions: ['read'] }] }))
          .id,
      );
      await t.agent(user, { permissions: [{ resource: 'db:orders:*', actions: ['write'] }] });
      t.clock.advance(1);
    }
    const child = await t.agent(user, { name: 'child' });
    const body = {
      fromAgent: holders[0],
      toAgent: child.id,
      permissions: [{ resource: 'db:orders:1', actions: ['read'] }],
    };
    const first = (await t.call('POST', '/delegations', { as: user, body })).body.id;
    t.clock.advance(1);
    const grandchild = await t.agent(user, { name: 'grandchild' });
    const second = (
      await t.call('POST', '/delegations', { as: user, body: { ...body, fromAgent: child.id, toAgent: grandchild.id } })
    ).body.id;
    await t.call('DELETE', `/agents/${holders[4]}`, { as: user });
    const ask = (query: string, as: { token: string } = user) =>
      t.call('GET', `/permissions/subjects?${query}`, { as });
    const all = await ask('action=read&resource=db:orders:1');
    expect(all.body[0]).toEqual({ agentId: holders[0], name: 'holder 0', ownerId: user.id, via: { type: 'own' } });
    expect(all.body.slice(-2)).toEqual([
      { agentId: child.id, name: 'child', ownerId: user.id, via: { type: 'delegation', delegationIds: [first] } },
      {
        agentId: grandchild.id,
        name: 'grandchild',
        ownerId: user.id,
        via: { type: 'delegation', delegationIds: [first, second] },
      },
    ]);
    const everyone = [...holders.slice(0, 4), child.id, grandchild.id];
    expect(all.body.map((s: Json) => s.agentId)).toEqual(everyone);
    expect((await ask('action=read&resource=db:orders:2')).body.map((s: Json) => s.agentId)).toEqual(
      holders.slice(0, 4),
    );
    const paged: string[] = [];
    for (let next = '/permissions/subjects?action=read&resource=db:orders:1&limit=2'; next; ) {
      const r = await t.call('GET', next, { as: user });
      paged.push(...r.body.map((s: Json) => s.agentId));
      next = /<([^>]+)>/.exec(r.headers.get('link') ?? '')?.[1] ?? '';
    }
    expect(paged).toEqual(everyone);
    expect((await ask('action=read&resource=db:orders:1', await t.user())).body).toEqual([]);
    expect((await ask('action=read&resource=db:orders:1', await t.admin())).body.length).toBe(6);
    expect((await ask('resource=db:x')).body.error.details.issues).toMatchObject([{ path: 'action' }]);
  });
});
