import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PEOPLE, SEED, TENANTS } from './data.ts';
import { SCENES, type Scene } from './script.ts';
import { type Demo, newDemoFolder, startDemo } from './start.ts';

let demo: Demo;
beforeAll(async () => {
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  demo = await startDemo({ folder: newDemoFolder(), rows: 2000, agents: 300, port: 0, log: silent });
});
afterAll(() => demo.close());

const idOf = (name: string): string => demo.agents.get(name)?.id as string;
const play = (what: string): Promise<unknown> =>
  (SCENES.find((scene) => scene.what.includes(what)) as Scene).play(demo);

describe('the data of the demo', () => {
  it('has people by role, tenants, agents and delegations of three steps', async () => {
    const { items: users } = await demo.admin.users.list().page();
    expect(users.map(({ role }) => role).sort()).toEqual(PEOPLE.map(({ role }) => role).sort());
    expect((await demo.admin.tenants.list().page()).items.map(({ name }) => name)).toEqual(TENANTS);
    const page = await demo.admin.agents.list({ view: 'summary' }).page();
    // The agents of two consents are not of the seed.
    expect([page.total, demo.agents.size, SEED.agents.length]).toEqual([302, 300, 24]);
    expect(page.items.map(({ name }) => name)).toEqual(expect.arrayContaining(['refund-desk', 'refund-desk-2']));
    const { buckets } = await demo.admin.audit.histogram({ agentId: idOf('refund-desk-2'), buckets: 1 });
    expect(buckets[0]?.counts.allowed).toBeGreaterThan(0);
    const { items } = await demo.admin.delegations.list().page();
    expect(items).toHaveLength(SEED.delegations.length);
    expect(Math.max(...items.map(({ depth }) => depth))).toBe(3);
  });

  it('has decisions over 30 days, most of them allowed, fewer at night', async () => {
    const { buckets } = await demo.admin.audit.histogram({ buckets: 30 });
    const total = buckets.map(({ counts }) => counts.allowed + counts.denied + counts.rate_limited);
    const sum = total.reduce((a, b) => a + b, 0);
    expect(sum).toBeGreaterThan(1800);
    expect(total.filter((n) => n > 0).length).toBeGreaterThan(25);
    expect(buckets.reduce((n, { counts }) => n + counts.allowed, 0)).toBeGreaterThan(sum * 0.8);
    const { items } = await demo.admin.audit.list({ limit: 1000 }).page();
    const times = items.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort().reverse());
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
  });

  it('has costs of every day before today, within all budgets', async () => {
    const days = new Set<string>();
    for await (const { agentId, currency, createdAt, amount } of demo.admin.costs.list()) {
      days.add(createdAt.slice(0, 10));
      expect(['ticket-summariser', 'translator', 'forecast'].map(idOf)).toContain(agentId);
      expect([currency, amount > 0]).toEqual(['USD', true]);
    }
    expect(days.size).toBeGreaterThanOrEqual(29);
    for await (const { used, limit } of demo.admin.budgets.list()) expect(used).toBeLessThan(limit);
  });
});

describe('the scenes of the demo', () => {
  it('ask for approvals, one of them unusual', async () => {
    await play('a payment waits');
    await play('an unusual refund');
    const { items } = await demo.admin.approvals.list({ status: 'pending' }).page();
    expect(items).toHaveLength(2);
  });

  it('let applications act for people, one of which calls a real MCP server', async () => {
    const { items: before } = await demo.admin.oauth.grants.list().page();
    expect(before.map(({ clientName, resource }) => [clientName, resource])).toEqual([
      ['Report builder', demo.url],
      ['Desk assistant', demo.servers.wiki],
    ]);
    await play('reads the wiki');
    const agentId = before[1]?.agentId as string;
    const { items: calls } = await demo.admin.audit.list({ agentId: [agentId] }).page();
    expect(calls.map(({ resource, result }) => [resource, result])).toEqual([
      ['mcp:wiki:read', 'allowed'],
      ['mcp:wiki:search', 'allowed'],
    ]);
    await play('lets an application read');
    const { items } = await demo.admin.oauth.grants.list().page();
    expect(items.map(({ clientName }) => clientName)).toEqual(['Month-end helper', 'Report builder', 'Desk assistant']);
  });

  it('probe resources, which causes an anomaly', async () => {
    await play('the scraper');
    await expect
      .poll(async () => (await demo.admin.anomalies.list({ agentId: idOf('scraper') }).page()).items.length, {
        timeout: 60_000,
      })
      .toBeGreaterThan(0);
  });

  it('use up a budget', async () => {
    await play('reaches its budget');
    const translator = demo.agents.get('translator');
    expect(await translator?.client.authorize({ action: 'execute', resource: 'mcp:translate:de' })).toMatchObject({
      allowed: false,
      reason: 'BUDGET_EXCEEDED',
    });
  });

  it('narrow a chain, and end it', async () => {
    const held = async (): Promise<string[]> =>
      (await demo.admin.agents.permissions(idOf('code-reviewer'))).map(({ resource }) => resource);
    expect(await held()).toEqual(['mcp:github:*']);
    await play('loses permissions');
    expect(await held()).toEqual(['mcp:github:pulls:*']);
    await play('is revoked');
    expect(await held()).toEqual([]);
    expect((await demo.admin.delegations.list().page()).items).toHaveLength(SEED.delegations.length - 3);
  });

  it('make the webhook fail, and recover', async () => {
    const [webhook] = (await demo.admin.webhooks.list().page()).items;
    const answered = async (lastStatus: number): Promise<boolean> => {
      const { items } = await demo.admin.webhooks.deliveries(webhook?.id as string).page();
      return items.some((delivery) => delivery.lastStatus === lastStatus);
    };
    const soon = { timeout: 60_000 };
    await play('the webhook fails');
    await expect.poll(() => answered(503), soon).toBe(true);
    await play('the webhook recovers');
    await expect.poll(() => answered(503), soon).toBe(false);
    expect(await answered(200)).toBe(true);
  });
});
