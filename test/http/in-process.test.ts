import { beforeAll, describe, expect, it } from 'vitest';
import { type ChangeOptions, etagOf } from '../../src/index.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

interface Versioned {
  readonly path: string;
  readonly get: () => Promise<object>;
  readonly changes: readonly ((options: ChangeOptions) => Promise<unknown>)[];
}

let t: TestService;
let owner: TestUser;
let agent: TestAgent;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agent = await t.agent(owner, {
    permissions: [{ resource: 'ask:*', actions: ['read'], constraints: { requireApproval: true } }],
  });
});

const overHttp = async (path: string): Promise<unknown> => (await t.call('GET', path, { as: owner })).body;

describe('a version that a change depends on', () => {
  const name = (i: number) => ({ name: `name ${i}` });
  const kinds: Record<string, () => Promise<Versioned>> = {
    agents: async () => {
      const { id } = await t.agent(owner);
      const { agents } = t.legate;
      return {
        path: `/agents/${id}`,
        get: () => agents.get(id),
        changes: [
          (o) => agents.update(id, name(1), o),
          (o) => agents.rotate(id, o),
          (o) => agents.revoke(id, 'left', o),
        ],
      };
    },
    users: async () => {
      const { id } = await t.user();
      const { users } = t.legate;
      return {
        path: `/users/${id}`,
        get: () => users.get(id),
        changes: [(o) => users.update(id, name(1), o), (o) => users.delete(id, o)],
      };
    },
    budgets: async () => {
      const { budgets } = t.legate;
      const { id } = await budgets.create({
        agentId: (await t.agent(owner)).id,
        metric: 'calls',
        limit: 5,
        window: 'day',
      });
      return {
        path: `/budgets/${id}`,
        get: () => budgets.get(id),
        changes: [(o) => budgets.update(id, { limit: 7 }, o), (o) => budgets.delete(id, o)],
      };
    },
    webhooks: async () => {
      const { webhooks } = t.legate;
      const { id } = await webhooks.create({ ownerId: owner.id, url: 'https://receiver.example/' });
      return {
        path: `/webhooks/${id}`,
        get: () => webhooks.get(id),
        changes: [
          (o) => webhooks.update(id, { url: 'https://other.example/' }, o),
          (o) => webhooks.rotate(id, o),
          (o) => webhooks.delete(id, o),
        ],
      };
    },
    'MCP servers': async () => {
      const { mcp } = t.legate;
      const server = { name: 'versions', endpoint: 'https://versions.example/mcp', tools: ['read'] };
      const { id } = await mcp.registerServer(server);
      return {
        path: `/mcp/servers/${id}`,
        get: () => mcp.getServer(id),
        changes: [(o) => mcp.updateServer(id, { tools: ['write'] }, o), (o) => mcp.removeServer(id, o)],
      };
    },
  };

  it.each(Object.keys(kinds))('of %s: each change is refused if the version is not the current one', async (kind) => {
    const { path, get, changes } = await (kinds[kind] as () => Promise<Versioned>)();
    const admin = await t.admin();
    const first = await get();
    const tag = (await t.call('GET', path, { as: admin })).headers.get('etag') as string;
    expect(etagOf(first)).toBe(tag);
    let expected: object | string = first;
    for (const change of changes) {
      await expect(change({ ifMatch: '"another"' })).rejects.toMatchObject({
        code: 'PRECONDITION_FAILED',
        status: 412,
      });
      await change({ ifMatch: expected });
      if (change !== changes.at(-1)) {
        await expect(change({ ifMatch: first })).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
        expected = etagOf(await get());
      }
    }
  });

  it('is an object that Legate returned, or an ETag', async () => {
    const { id } = await t.agent(owner);
    for (const ifMatch of [{ id }, [], 7, null, 'agent', ''])
      await expect(t.legate.agents.update(id, name(2), { ifMatch } as never)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        status: 400,
      });
    await expect(t.legate.agents.update(id, name(2), { ifmatch: '*' } as never)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    expect(await t.legate.agents.update(id, name(2), { ifMatch: '*' })).toMatchObject(name(2));
    await expect(t.legate.agents.update('agt_none', name(2), { ifMatch: '*' })).rejects.toMatchObject({ status: 404 });
  });
});

describe('the endpoints as functions', () => {
  it('legate.costs', async () => {
    const { costs } = t.legate;
    const since = new Date(t.clock.now());
    const cost = await costs.record({ agentId: agent.id, amount: 0.25, tokens: 10 });
    expect(await overHttp('/costs')).toEqual([cost]);
    expect(await costs.list({ agentId: agent.id, since })).toEqual([cost]);
    expect(await costs.list({ until: since })).toEqual([]);
    expect(await costs.summary({ ownerId: owner.id })).toEqual(await overHttp('/costs/summary'));
    await expect(costs.record({ agentId: agent.id, amount: -1 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { issues: [{ path: 'amount' }] },
    });
    await expect(costs.record({ agentId: 'agt_none', amount: 1 })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      status: 404,
    });
  });

  it('legate.budgets', async () => {
    const { budgets } = t.legate;
    const budget = await budgets.create({ agentId: agent.id, metric: 'calls', limit: 5, window: 'day' });
    expect(await overHttp('/budgets')).toEqual([budget]);
    expect([
      await budgets.get(budget.id),
      await budgets.list({ agentId: agent.id }),
      await budgets.list({ ownerId: 'usr_x' }),
    ]).toEqual([budget, [budget], []]);
    expect(await budgets.update(budget.id, { limit: 7, onExceed: 'deny' })).toMatchObject({
      limit: 7,
      onExceed: 'deny',
    });
    await budgets.delete(budget.id);
    await expect(budgets.get(budget.id)).rejects.toMatchObject({ code: 'BUDGET_NOT_FOUND', status: 404 });
    await expect(budgets.create({ agentId: agent.id } as never)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('legate.approvals', async () => {
    const { approvals } = t.legate;
    const ask = (n: number) => t.legate.authorize({ agentId: agent.id, action: 'read', resource: `ask:${n}` });
    const [yes, no] = [(await ask(1)).approvalId as string, (await ask(2)).approvalId as string];
    expect(await approvals.list({ status: 'pending', agentId: agent.id })).toEqual(await overHttp('/approvals'));
    expect(await approvals.approve(yes, { note: 'fine' })).toMatchObject({
      status: 'approved',
      note: 'fine',
      resolvedBy: null,
    });
    expect(await approvals.deny(no)).toMatchObject({ status: 'denied', note: null });
    expect([(await ask(1)).allowed, (await ask(2)).allowed]).toEqual([true, false]);
    expect((await approvals.get(yes)).status).toBe('used');
    await expect(approvals.approve(no)).rejects.toMatchObject({ code: 'APPROVAL_NOT_PENDING', status: 409 });
    await expect(approvals.get('apr_none')).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND', status: 404 });
  });

  it('legate.anomalies', async () => {
    const { anomalies } = t.legate;
    for (let i = 0; i < 10; i++) await t.authorize(agent, { action: 'read', resource: `no:${i}` });
    const [found] = await anomalies.list({ agentId: agent.id, since: new Date(t.clock.now() - 1000) });
    expect(found).toMatchObject({ kind: 'resource_probing', status: 'open' });
    const { id } = found as { id: string };
    expect(await anomalies.acknowledge(id, { note: 'a test' })).toMatchObject({
      status: 'acknowledged',
      note: 'a test',
      acknowledgedBy: null,
    });
    expect(await anomalies.get(id)).toEqual(await overHttp(`/anomalies/${id}`));
    expect(await anomalies.list({ status: 'open', agentId: agent.id })).toEqual([]);
    await expect(anomalies.get('ano_none')).rejects.toMatchObject({ code: 'ANOMALY_NOT_FOUND', status: 404 });
  });

  it('legate.dashboard', async () => {
    const { dashboard } = t.legate;
    const owners = { ownerId: owner.id };
    await t.authorize(agent, { action: 'write', resource: 'ask:x' });
    expect(await dashboard.stats({ ...owners, window: '7d' })).toEqual(await overHttp('/dashboard/stats?window=7d'));
    const series = await dashboard.series({ ...owners, window: '7d', buckets: 2 });
    expect(series).toEqual(await overHttp('/dashboard/series?window=7d&buckets=2'));
    expect(series.buckets.at(-1)).toMatchObject({ denied: expect.any(Number) });
    expect(await dashboard.attention(owners)).toEqual(await overHttp('/dashboard/attention'));
    await expect(dashboard.series({ buckets: 0 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { issues: [{ path: 'buckets' }] },
    });
    await expect(dashboard.attention({ owner: 'x' } as never)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('legate.names and legate.system', async () => {
    expect(await t.legate.names([agent.id, 'agt_none', owner.id])).toEqual([
      { id: agent.id, kind: 'agent', name: agent.body.name },
      { id: owner.id, kind: 'user', name: expect.any(String) },
    ]);
    await expect(t.legate.names([])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const admin = await t.admin();
    const { body } = await t.call('GET', '/system', { as: admin });
    expect(Object.keys(await t.legate.system())).toEqual(Object.keys(body));
  });

  it('legate.delegations.graph', async () => {
    const to = await t.agent(owner);
    const made = await t.legate.delegations.create({
      fromAgent: agent.id,
      toAgent: to.id,
      permissions: [{ resource: 'ask:x', actions: ['read'] }],
    });
    expect(await t.legate.delegations.graph({ agentId: agent.id, depth: 1 })).toEqual(
      await overHttp(`/delegations/graph?agentId=${agent.id}&depth=1`),
    );
    await t.legate.delegations.revoke(made.id);
    const ids = async (ended: boolean) =>
      (await t.legate.delegations.graph({ agentId: agent.id, ended })).delegations.map(({ id }) => id);
    expect([await ids(false), await ids(true)]).toEqual([[], [made.id]]);
    await expect(t.legate.delegations.graph({ agentId: 'agt_none' })).rejects.toMatchObject({ status: 404 });
    await expect(t.legate.delegations.graph({ depth: 11 })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('legate.webhooks: attempts and recovery', async () => {
    const { webhooks } = t.legate;
    const webhook = await webhooks.create({
      ownerId: owner.id,
      url: 'https://app.example/in',
      types: ['budget.exceeded'],
    });
    await expect(webhooks.delivery('dlv_none')).rejects.toMatchObject({ code: 'DELIVERY_NOT_FOUND', status: 404 });
    const span = { since: new Date(t.clock.now() - 1000), until: new Date(t.clock.now() + 1000) };
    expect(await webhooks.recover(webhook.id, span)).toEqual({ recovered: 0, more: false });
    await expect(webhooks.recover(webhook.id, { since: span.until, until: span.since })).rejects.toMatchObject({
      details: { issues: [{ path: 'since' }] },
    });
  });
});
