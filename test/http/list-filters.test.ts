import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

let t: TestService;
let tenant: string;
/** Two people of one tenant, and one without a tenant. */
let people: Record<'ann' | 'bob' | 'eve', TestUser>;
const agents = new Map<string, TestAgent>();
let admin: TestUser;

beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } });
  tenant = await t.tenant();
  people = { ann: await t.user({ tenantId: tenant }), bob: await t.user({ tenantId: tenant }), eve: await t.user() };
  admin = await t.admin();
  for (const user of Object.values(people)) {
    const permissions = [
      { resource: 'a:*', actions: ['read'] },
      { resource: 'ask:*', actions: ['read'], constraints: { requireApproval: true } },
    ];
    const agent = await t.agent(user, { permissions });
    agents.set(user.id, agent);
    const to = await t.agent(user);
    const call = async (path: string, body: object): Promise<void> =>
      expect((await t.call('POST', path, { as: user, body })).status, path).toBe(201);
    await call('/delegations', {
      fromAgent: agent.id,
      toAgent: to.id,
      permissions: [{ resource: 'a:*', actions: ['read'] }],
    });
    await call('/costs', { agentId: agent.id, amount: 1 });
    await call('/budgets', { agentId: agent.id, metric: 'calls', limit: 1000, window: 'day' });
    await call('/webhooks', { url: 'http://127.0.0.1:9/', types: ['agent.updated'] });
    await t.authorize(agent, { action: 'read', resource: 'ask:x' });
    for (let i = 0; i < 20; i++) await t.authorize(agent, { action: 'read', resource: `no:${i}` });
  }
});

const idOf = (userId: string): string => (agents.get(userId) as TestAgent).id;
/** Returns the owners of the listed objects. */
const LISTS: Record<string, (row: Json) => string> = {
  '/agents': (a) => a.ownerId,
  '/delegations': (d) => ownerOf(d.fromAgent),
  '/audit': (e) => e.userId,
  '/audit/export?format=json': (e) => e.userId,
  '/events': (e) => e.userId,
  '/webhooks': (w) => w.ownerId,
  '/costs': (c) => ownerOf(c.agentId),
  '/budgets': (b) => ownerOf(b.agentId),
  '/approvals': (a) => ownerOf(a.agentId),
  '/anomalies': (a) => ownerOf(a.agentId),
};
const ownerOf = (agentId: string): string => [...agents].find(([, a]) => a.id === agentId)?.[0] ?? 'nobody';
const asked = (path: string, query: Record<string, string>): string =>
  `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`;

describe('the filters of every list', () => {
  it.each(Object.entries(LISTS))('ownerId and tenantId of %s', async (path, owner) => {
    const { ann, bob, eve } = people;
    const list = async (as: TestUser | TestAgent, query: Record<string, string>): Promise<string[]> => {
      const r = await t.call('GET', asked(path, query), { as });
      expect(r.status, r.text).toBe(200);
      return [...new Set<string>(r.body.map(owner))].sort();
    };
    expect(await list(admin, { ownerId: ann.id })).toEqual([ann.id]);
    expect(await list(admin, { tenantId: tenant })).toEqual([ann.id, bob.id].sort());
    expect(await list(admin, { tenantId: tenant, ownerId: bob.id })).toEqual([bob.id]);
    for (const none of [{ tenantId: tenant, ownerId: eve.id }, { tenantId: 'tnt_x' }, { ownerId: 'usr_x' }])
      expect(await list(admin, none)).toEqual([]);
    // For other callers the filters never add objects that they may not see.
    expect(await list(ann, { ownerId: ann.id, tenantId: tenant })).toEqual([ann.id]);
    expect(await list(ann, { ownerId: bob.id })).toEqual([]);
    expect(await list(eve, { tenantId: tenant })).toEqual([]);
  });

  it('ownerId and tenantId apply to sums of costs and counts of decisions too', async () => {
    const { ann, bob, eve } = people;
    const sum = async (as: TestUser, query: Record<string, string>): Promise<[number, string[]]> => {
      const { body } = await t.call('GET', asked('/costs/summary', query), { as });
      return [body.count, body.agents.map((a: Json) => a.agentId).sort()];
    };
    const stats = async (as: TestUser, query: Record<string, string>): Promise<number[]> => {
      const { body } = await t.call('GET', asked('/dashboard/stats', { ...query, window: 'all' }), { as });
      return [body.totalAgents, body.totalAuditEntries, body.topAgentsByCallCount.length];
    };
    for (const [as, query, whose] of [
      [admin, {}, [ann, bob, eve]],
      [admin, { ownerId: eve.id }, [eve]],
      [admin, { tenantId: tenant }, [ann, bob]],
      [admin, { tenantId: tenant, ownerId: eve.id }, []],
      [eve, { tenantId: tenant }, []],
      [ann, { ownerId: ann.id }, [ann]],
    ] as [TestUser, Record<string, string>, TestUser[]][]) {
      expect(await sum(as, query)).toEqual([whose.length, whose.map((u) => idOf(u.id)).sort()]);
      expect(await stats(as, query)).toEqual([whose.length * 2, whose.length * 21, whose.length]);
    }
  });

  it.each(['/audit', '/audit/export?format=json', '/events', '/costs', '/anomalies'])(
    'since and until of %s may be dates, which mean midnight in UTC',
    async (path) => {
      const count = async (query: Record<string, string>): Promise<number> =>
        (await t.call('GET', asked(path, query), { as: admin })).body.length;
      const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
      const [today, tomorrow] = [day(t.clock.now()), day(t.clock.now() + 86_400_000)];
      expect(await count({ since: today, until: tomorrow })).toBe(await count({}));
      expect([await count({ until: today }), await count({ since: tomorrow })]).toEqual([0, 0]);
      for (const wrong of ['2030-02-30', '2030-1-1', '20300101', 'today']) {
        const r = await t.call('GET', asked(path, { since: wrong }), { as: admin });
        expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, 'since']);
      }
    },
  );

  it('a range that ends before it begins is refused', async () => {
    for (const path of [
      '/audit',
      '/audit/export?format=json',
      '/events',
      '/changes',
      '/costs',
      '/costs/summary',
      '/anomalies',
    ]) {
      const r = await t.call('GET', asked(path, { since: '2030-01-02', until: '2030-01-01' }), { as: admin });
      expect([path, r.status, r.body.error?.details.issues[0].path]).toEqual([path, 400, 'until']);
      const empty = await t.call('GET', asked(path, { since: '2030-01-02', until: '2030-01-02' }), { as: admin });
      expect([path, empty.status]).toEqual([path, 200]);
    }
  });

  it('a page of audit entries continues only with the same filter', async () => {
    const first = await t.call('GET', `/audit?tenantId=${tenant}&limit=30`, { as: admin });
    const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] as string;
    const second = await t.call('GET', next, { as: admin });
    expect([first.body.length, second.body.length]).toEqual([30, 12]);
    expect(second.headers.get('link')).toMatch(/^<[^>]+>; rel="prev"$/);
    expect((await t.call('GET', next.replace(tenant, 'tnt_x'), { as: admin })).status).toBe(400);
  });
});
