import { describe, expect, it } from 'vitest';
import { anomaly, approval, budget, newScene } from '../../../test/http/matrix.scene.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';

const DAY = 86_400_000;

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } }));

const NOTHING = { count: 0, ids: [] };
const attention = async (t: TestService, as: { token: string } | string, query = ''): Promise<Json> => {
  const r = await t.call('GET', `/dashboard/attention${query}`, { as });
  expect(r.status).toBe(200);
  return r.body;
};

describe('GET /dashboard/attention', () => {
  it('lists everything that needs an action, and only to callers who may see it', async () => {
    const t = await shared();
    const s = await newScene(t);
    const db = t.legate.platform.database.write;
    // No delivery reaches these webhooks, so only the test changes their state.
    const quietWebhook = async (): Promise<string> =>
      (
        await t.call('POST', '/webhooks', {
          as: s.owner,
          body: { url: 'http://127.0.0.1:9/in', types: ['budget.exceeded'] },
        })
      ).body.id;
    const [approvalId, anomalyId, full, half, failing, gone] = [
      await approval(s),
      await anomaly(s),
      await budget(s),
      await budget(s),
      await quietWebhook(),
      await quietWebhook(),
    ];
    await quietWebhook();
    const now = t.clock.now();
    const hour = Math.floor(now / DAY) * DAY;
    await db
      .updateTable('budgets')
      .set({ used: 801, window_start: hour })
      .where('id', '=', asId('budget', full))
      .execute();
    await db
      .updateTable('budgets')
      .set({ used: 800, window_start: hour })
      .where('id', '=', asId('budget', half))
      .execute();
    await db.updateTable('webhooks').set({ failures: 1 }).where('id', '=', asId('webhook', failing)).execute();
    await db
      .updateTable('webhooks')
      .set({ enabled: 0, disabled_reason: 'gone' })
      .where('id', '=', asId('webhook', gone))
      .execute();
    const inDays = (days: number): string => new Date(now + days * DAY).toISOString();
    const soon = await t.agent(s.owner, { expiresAt: inDays(6) });
    const sooner = await t.agent(s.owner, { expiresAt: inDays(1) });
    await t.agent(s.owner, { expiresAt: inDays(9) });
    const revoked = await t.agent(s.owner, { expiresAt: inDays(2) });
    await t.call('DELETE', `/agents/${revoked.id}`, { as: s.owner });
    const want = {
      approvals: { count: 1, ids: [approvalId] },
      anomalies: { count: 1, ids: [anomalyId] },
      budgets: { count: 1, ids: [full] },
      webhooks: { count: 2, ids: [gone, failing] },
      agents: { count: 2, ids: [sooner.id, soon.id] },
    };
    expect(await attention(t, s.owner)).toEqual(want);
    expect(await attention(t, await t.admin(), `?ownerId=${s.owner.id}`)).toEqual(want);
    expect(await attention(t, await t.user())).toEqual({
      approvals: NOTHING,
      anomalies: NOTHING,
      budgets: NOTHING,
      webhooks: NOTHING,
      agents: NOTHING,
    });
    // A day later the approval has lapsed, the window of the budget is over and an agent has expired.
    t.clock.advance(1.5 * DAY);
    expect(await attention(t, s.owner)).toMatchObject({
      approvals: NOTHING,
      budgets: NOTHING,
      agents: { count: 1, ids: [soon.id] },
    });
    expect((await t.call('GET', '/dashboard/attention?owner=x', { as: s.owner })).status).toBe(400);
  });
});

describe('GET /costs/series', () => {
  it('sums costs by currency in buckets of equal length', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const since = t.clock.now();
    const record = (body: object) => t.call('POST', '/costs', { as: owner, body: { agentId: agent.id, ...body } });
    await record({ amount: 0.1, tokens: 5 });
    await record({ amount: 0.2 });
    t.clock.advance(60_000);
    await record({ amount: 3, currency: 'EUR', tokens: 1 });
    const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
    const range = `since=${iso(since)}&until=${iso(since + 90_000)}`;
    const series = async (query: string, as: { token: string } = owner): Promise<Json> =>
      (await t.call('GET', `/costs/series?${query}`, { as })).body.buckets;
    expect(await series(`${range}&buckets=3`)).toMatchObject([
      { from: new Date(since).toISOString(), count: 2, tokens: 5, totals: [{ currency: 'USD', amount: 0.3 }] },
      { count: 0, tokens: 0, totals: [] },
      { to: new Date(since + 90_000).toISOString(), count: 1, totals: [{ currency: 'EUR', amount: 3 }] },
    ]);
    expect((await series('')).at(-1)).toMatchObject({ count: 3 });
    expect((await series('', await t.user())).at(-1)).toMatchObject({ count: 0 });
    const inProcess = await t.legate.costs.series({ agentId: agent.id, since: new Date(since), buckets: 1 });
    expect(inProcess.buckets).toMatchObject([{ count: 3, totals: [{ currency: 'EUR' }, { currency: 'USD' }] }]);
    for (const query of ['buckets=0', 'buckets=201', 'since=x', `since=${iso(since)}&until=${iso(since)}`, 'bucket=1'])
      expect([query, (await t.call('GET', `/costs/series?${query}`, { as: owner })).status]).toEqual([query, 400]);
  });
});

describe('lastUsedAt in GET /agents/:id/permissions', () => {
  it('is the time of the newest call that the entry allowed', async () => {
    const t = await shared();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'db:*', actions: ['read'] },
        { resource: 'db:*', actions: ['write'] },
        { resource: 'file:x', actions: ['*'] },
      ],
    });
    const other = await t.agent(owner);
    const delegate = { fromAgent: agent.id, toAgent: other.id, permissions: [{ resource: 'db:a', actions: ['read'] }] };
    await t.call('POST', '/delegations', { as: owner, body: delegate });
    const times = async (id: string): Promise<(string | null)[]> =>
      (await t.call('GET', `/agents/${id}/permissions`, { as: owner })).body.map((p: Json) => p.lastUsedAt);
    expect(await times(agent.id)).toEqual([null, null, null]);
    const ask = async (as: { token: string }, action: string, resource: string): Promise<string> => {
      t.clock.advance(1000);
      await t.authorize(as, { action, resource });
      return new Date(t.clock.now()).toISOString();
    };
    await ask(agent, 'read', 'db:a');
    const read = await ask(agent, 'read', 'db:b');
    await ask(agent, 'delete', 'db:b');
    const file = await ask(agent, 'anything', 'file:x');
    const delegated = await ask(other, 'read', 'db:a');
    expect(await times(agent.id)).toEqual([read, null, file]);
    expect(await times(other.id)).toEqual([delegated]);
  });

  it('is not the time at which a person approved a call', async () => {
    const t = await shared();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
        { resource: 'legate:*', actions: ['*'] },
      ],
    });
    const { approvalId } = (await t.authorize(agent, { action: 'pay', resource: 'bank:a' })).body;
    expect((await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner })).status).toBe(200);
    const { body } = await t.call('GET', `/agents/${agent.id}/permissions`, { as: owner });
    expect(body.map((p: Json) => p.lastUsedAt)).toEqual([null, null]);
  });

  it('is found even below thousands of newer calls that other entries allowed', async () => {
    const t = await shared();
    const owner = await t.user();
    const { id } = await t.agent(owner, {
      permissions: [
        { resource: 'db:orders', actions: ['read'] },
        { resource: 'db:*:row', actions: ['*'] },
        { resource: '*', actions: ['purge'] },
        { resource: 'never:*', actions: ['read'] },
        { resource: 'busy:*', actions: ['read'] },
      ],
    });
    const ask = async (action: string, resource: string): Promise<string> => {
      t.clock.advance(1000);
      expect((await t.legate.authorize({ agentId: id, action, resource })).allowed).toBe(true);
      return new Date(t.clock.now()).toISOString();
    };
    const asked = [await ask('read', 'db:orders'), await ask('write', 'db:a:row'), await ask('purge', 'all:of:it')];
    t.clock.advance(1000);
    await Promise.all(
      Array.from({ length: 2100 }, (_, i) =>
        t.legate.authorize({ agentId: id, action: 'read', resource: `busy:${i}` }),
      ),
    );
    const busy = new Date(t.clock.now()).toISOString();
    const { body } = await t.call('GET', `/agents/${id}/permissions`, { as: owner });
    expect(body.map((p: Json) => p.lastUsedAt)).toEqual([...asked, null, busy]);
  });
});

describe('GET /system', () => {
  it('describes the installation without any secret', async () => {
    const t = await createTestService({ config: { metrics: { token: 'a very secret token of metrics' } } });
    const { body, text } = await t.call('GET', '/system', { as: await t.user({ role: 'auditor' }) });
    expect(body).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      database: { migrations: { pending: [] } },
      instances: [{ current: true, startedAt: new Date(t.clock.now()).toISOString() }],
    });
    const option = (name: string): Json => body.settings.find((s: Json) => s.option === name);
    expect(option('metrics.token')).toMatchObject({ secret: true, set: true, value: null, source: 'code' });
    expect(option('agents.maxPerOwner')).toMatchObject({ secret: false, set: true, value: 200, source: 'default' });
    expect(option('mail.url')).toMatchObject({ secret: true, set: false, value: null });
    const secrets = t.legate.platform.secrets();
    for (const { key, id } of Object.values(secrets).flat()) {
      expect(text).not.toContain(key);
      expect(body.keys.map((k: Json) => k.id)).toContain(id);
    }
    expect(text).not.toContain('a very secret token');
    expect(text).not.toContain(t.database.url);
    expect((await t.call('GET', '/system', { as: await t.user() })).status).toBe(403);
  });
});
