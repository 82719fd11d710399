import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asId } from '../../src/kernel/ids.ts';
import { isRepeated } from '../../src/kernel/query.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

let t: TestService;
let admin: TestUser;
let scene: Record<'ann' | 'eve' | 'fay', Owned>;
let webhookId: string;

interface Owned {
  readonly user: TestUser;
  readonly tenantId: string;
  readonly from: TestAgent;
  readonly to: TestAgent;
}

const post = async (as: { token: string }, path: string, body: object): Promise<Json> => {
  const r = await t.call('POST', path, { as, body });
  expect([200, 201], `${path} ${r.text}`).toContain(r.status);
  return r.body;
};

/** An owner with one object of each kind. */
async function owned(): Promise<Owned> {
  const tenantId = await t.tenant();
  const user = await t.user({ tenantId });
  const permissions = [
    { resource: 'a:*', actions: ['read'] },
    { resource: 'ask:*', actions: ['read'], constraints: { requireApproval: true } },
  ];
  const from = await t.agent(user, { type: 'service', permissions });
  const to = await t.agent(user, { type: 'autonomous' });
  const passedOn = [{ resource: 'a:*', actions: ['read'] }];
  await post(user, '/delegations', { fromAgent: from.id, toAgent: to.id, permissions: passedOn });
  await post(user, '/costs', { agentId: from.id, amount: 1 });
  await post(user, '/budgets', { agentId: from.id, metric: 'calls', limit: 1000, window: 'day' });
  await post(user, '/webhooks', { url: 'http://127.0.0.1:9/', types: ['agent.updated'] });
  for (let i = 0; i < 20; i++) await t.authorize(from, { action: 'read', resource: `no:${i}` });
  return { user, tenantId, from, to };
}

beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    withoutIntervals: true,
    config: { webhooks: { allowPrivateNetworks: true } },
  });
  admin = await t.admin();
  const ann = await owned();
  await t.authorize(ann.from, { action: 'read', resource: 'ask:late' });
  // Nobody decides this approval, so it lapses.
  t.clock.advance(301_000);
  scene = { ann, eve: await owned(), fay: await owned() };
  for (const { from } of Object.values(scene)) await t.authorize(from, { action: 'read', resource: 'ask:x' });
  const waiting = (await t.call('GET', `/approvals?agentId=${scene.eve.from.id}`, { as: admin })).body;
  await post(admin, `/approvals/${waiting[0].id}/approve`, {});
  const anomalies = (await t.call('GET', '/anomalies', { as: admin })).body;
  expect(anomalies.length).toBeGreaterThan(1);
  await post(admin, `/anomalies/${anomalies[0].id}/acknowledge`, {});
  for (const { id } of anomalies)
    await t.legate.platform.database.write
      .updateTable('anomalies')
      .set(
        id === anomalies[0].id ? { kind: 'denial_burst', severity: 'low' } : { kind: 'rate_spike', severity: 'high' },
      )
      .where('id', '=', id)
      .execute();
  const gone = await t.agent(scene.fay.user, { type: 'delegated' });
  expect((await t.call('DELETE', `/agents/${gone.id}`, { as: admin })).status).toBe(204);
  webhookId = (await post(admin, '/webhooks', { url: 'http://127.0.0.1:9/', types: ['agent.updated'] })).id;
  for (const status of ['pending', 'dropped', 'delivered'] as const) {
    const { id } = await post(admin, `/webhooks/${webhookId}/test`, {});
    await t.legate.platform.database.write
      .updateTable('webhook_deliveries')
      .set({ status })
      .where('id', '=', asId('delivery', id))
      .execute();
  }
});

const owner = (who: keyof typeof scene): string => scene[who].user.id;
const owners = {
  ownerId: () => [owner('ann'), owner('eve')],
  tenantId: () => [scene.ann.tenantId, scene.eve.tenantId],
};
const ids = (body: Json): string[] => body.map((row: Json) => row.id);
const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
const agentId = () => [scene.ann.from.id, scene.eve.from.id];

interface Row {
  /** The results in a response: the ids of a list, or a number. */
  readonly found: (body: Json) => string[] | number;
  /** Two values of each filter with different results. Other objects match neither. */
  readonly filters: Record<string, () => string[]>;
}

const FILTERS: Record<string, Row> = {
  '/agents': {
    found: ids,
    filters: { ...owners, status: () => ['active', 'revoked'], type: () => ['service', 'delegated'] },
  },
  '/delegations': {
    found: ids,
    filters: { ...owners, fromAgent: agentId, toAgent: () => [scene.ann.to.id, scene.eve.to.id] },
  },
  '/approvals': { found: ids, filters: { ...owners, agentId, status: () => ['approved', 'expired'] } },
  '/costs': { found: ids, filters: { ...owners, agentId } },
  '/costs/summary': { found: (body) => body.count, filters: { ...owners, agentId } },
  '/costs/series': {
    found: (body) => sum(body.buckets.map((b: Json) => b.count)),
    filters: { ...owners, agentId },
  },
  '/budgets': { found: ids, filters: { ...owners, agentId } },
  '/anomalies': {
    found: ids,
    filters: {
      ...owners,
      agentId,
      status: () => ['open', 'acknowledged'],
      kind: () => ['rate_spike', 'denial_burst'],
      severity: () => ['low', 'high'],
    },
  },
  '/webhooks': { found: ids, filters: owners },
  '/webhooks/:id/deliveries': { found: ids, filters: { status: () => ['dropped', 'delivered'] } },
  '/dashboard/stats': { found: (body) => body.totalAgents + body.totalAuditEntries, filters: owners },
  '/dashboard/series': {
    found: (body) => sum(body.buckets.map((b: Json) => b.allowed + b.denied + b.rateLimited)),
    filters: owners,
  },
  '/dashboard/attention': { found: (body) => body.anomalies.count, filters: owners },
  '/users': {
    found: ids,
    filters: {
      role: () => ['user', 'admin'],
      tenantId: owners.tenantId,
      email: () => [scene.ann.user.email, scene.eve.user.email.toUpperCase()],
    },
  },
};

/** The tests of the audit log (src/activity/audit), the stream, the changes and the gateway cover these. */
const TESTED_ELSEWHERE = /^\/(audit|events|changes|gateway)/;

const anyOfNames = ({ query }: { readonly query?: z.ZodType }): string[] =>
  Object.entries(query instanceof z.ZodObject ? query.shape : {})
    .filter(
      ([, schema]) => isRepeated(schema) && schema instanceof z.ZodOptional && schema.unwrap() instanceof z.ZodArray,
    )
    .map(([name]) => name)
    .sort();

describe('a repeated filter', () => {
  it('has a row here wherever it is declared', async () => {
    const declared = distinctRoutes(t.legate.platform.config)
      .filter(({ route }) => anyOfNames(route).length > 0 && !TESTED_ELSEWHERE.test(route.path))
      .map(({ route }) => [route.path, anyOfNames(route)]);
    expect(Object.fromEntries(declared)).toEqual(
      Object.fromEntries(Object.entries(FILTERS).map(([path, { filters }]) => [path, Object.keys(filters).sort()])),
    );
  });

  const rows = Object.entries(FILTERS).flatMap(([path, { filters }]) =>
    Object.keys(filters).map((name): [string, string] => [path, name]),
  );
  it.each(rows)('%s %s: means any of its values', async (template, name) => {
    const { found, filters } = FILTERS[template] as Row;
    const path = template.replace(':id', webhookId);
    const ask = async (values: readonly string[]) => {
      const query = new URLSearchParams(values.map((value) => [name, value]));
      const r = await t.call('GET', `${path}?${query}`, { as: admin });
      expect(r.status, r.text).toBe(200);
      return found(r.body);
    };
    const [a, b] = (filters[name] as () => string[])() as [string, string];
    const [one, other, both, none] = [await ask([a]), await ask([b]), await ask([a, b]), await ask([])];
    if (typeof one === 'number') {
      expect(one).toBeGreaterThan(0);
      expect(both).toBe(one + (other as number));
      if (name !== 'status' && name !== 'role') expect(none).toBeGreaterThan(both as number);
    } else {
      const [first, second] = [one, other as string[]];
      expect(first.length * second.length).toBeGreaterThan(0);
      expect([...(both as string[])].sort()).toEqual([...new Set([...first, ...second])].sort());
    }
    // The order of the values and repetitions make no difference.
    expect(await ask([b, a, b])).toEqual(both);
    const errors = async (values: readonly string[]) =>
      (await t.call('GET', `${path}?${new URLSearchParams(values.map((v) => [name, v]))}`, { as: admin })).body.error
        ?.details.issues[0].path;
    expect(await errors([a, 'x'.repeat(5000), b])).toBe(name);
    expect(await errors([a, ''])).toBe(name);
    expect(await errors(Array.from({ length: 51 }, () => a))).toBe(name);
    expect(await errors(Array.from({ length: 50 }, () => a))).toBeUndefined();
  });

  it('with one unknown value is refused', async () => {
    for (const [path, name, good] of [
      ['/agents', 'status', 'active'],
      ['/agents', 'type', 'service'],
      ['/approvals', 'status', 'pending'],
      ['/anomalies', 'kind', 'denial_burst'],
      ['/anomalies', 'severity', 'low'],
      ['/users', 'role', 'user'],
    ] as const) {
      const r = await t.call('GET', `${path}?${name}=${good}&${name}=nothing`, { as: admin });
      expect([r.status, r.body.error?.details.issues[0].path], `${path} ${name}`).toEqual([400, name]);
    }
  });

  it('is combined with other filters, all of which must match', async () => {
    const { ann, eve, fay } = scene;
    const list = async (as: TestUser, query: string): Promise<string[]> =>
      (await t.call('GET', `/costs?${query}`, { as })).body.map((cost: Json) => cost.agentId).sort();
    const both = `ownerId=${ann.user.id}&ownerId=${eve.user.id}`;
    expect(await list(admin, `${both}&tenantId=${eve.tenantId}&tenantId=${fay.tenantId}`)).toEqual([eve.from.id]);
    expect(await list(admin, `${both}&tenantId=${fay.tenantId}`)).toEqual([]);
    expect(await list(admin, `${both}&agentId=${fay.from.id}&agentId=${ann.from.id}`)).toEqual([ann.from.id]);
    // A person finds only their own objects, whatever other owners are named.
    expect(await list(ann.user, `${both}&ownerId=${fay.user.id}`)).toEqual([ann.from.id]);
    expect(await list(ann.user, `tenantId=${eve.tenantId}&tenantId=${ann.tenantId}`)).toEqual([ann.from.id]);
    expect(await list(ann.user, `tenantId=${eve.tenantId}&tenantId=${fay.tenantId}`)).toEqual([]);
    expect(await list(ann.user, `agentId=${eve.from.id}&agentId=${fay.from.id}`)).toEqual([]);
  });

  it('keeps its values on the next page', async () => {
    const { ann, eve } = scene;
    const mine = `ownerId=${ann.user.id}&ownerId=${eve.user.id}`;
    for (const path of [
      `/agents?sort=name&${mine}`,
      `/agents?view=summary&${mine}`,
      `/budgets?${mine}`,
      `/costs?${mine}`,
    ]) {
      const all = ids((await t.call('GET', path, { as: admin })).body);
      const found: string[] = [];
      for (let next: string | undefined = `${path}&limit=1`; next; ) {
        const page: Json = await t.call('GET', next, { as: admin });
        found.push(...ids(page.body));
        next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
      }
      expect(found, path).toEqual(all);
    }
  });

  it('may be one value or a list in process', async () => {
    const { agents, approvals, budgets, costs, dashboard, delegations, users } = t.legate;
    const ownerId = [owner('ann'), owner('eve')];
    expect((await agents.list({ ownerId, status: 'active' })).length).toBe(4);
    expect((await agents.summaries({ ownerId: owner('ann'), type: ['service', 'autonomous'] })).length).toBe(2);
    expect((await agents.list({ ids: agentId() })).length).toBe(2);
    expect((await agents.list({ ids: agentId().join() })).length).toBe(2);
    expect((await approvals.list({ status: ['pending', 'approved'] })).length).toBe(3);
    expect((await budgets.list({ agentId: agentId() })).length).toBe(2);
    expect((await costs.list({ agentId: scene.ann.from.id })).length).toBe(1);
    expect((await costs.summary({ ownerId })).count).toBe(2);
    expect((await costs.series({ ownerId, buckets: 1 })).buckets[0]?.count).toBe(2);
    expect((await dashboard.stats({ ownerId })).totalAgents).toBe(4);
    expect((await dashboard.series({ ownerId, buckets: 1 })).buckets[0]?.denied).toBeGreaterThan(40);
    expect((await delegations.list({ fromAgent: agentId() })).length).toBe(2);
    expect((await users.list({ tenantId: [scene.ann.tenantId, scene.eve.tenantId] })).length).toBe(2);
    for (const wrong of [['active', 'nothing'], [], Array.from({ length: 51 }, () => 'active'), 5])
      await expect(agents.list({ status: wrong as never })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        details: { issues: [{ path: 'status' }] },
      });
  });
});

describe('a repeated comma list', () => {
  const count = async (path: string): Promise<number> => {
    const r = await t.call('GET', path, { as: admin });
    expect(r.status, r.text).toBe(200);
    return r.body.length;
  };

  it('is one list', async () => {
    const { ann, eve } = scene;
    expect(await count(`/agents?ids=${ann.from.id}&ids=${eve.from.id},${eve.to.id}`)).toBe(3);
    expect(await count(`/names?ids=${ann.from.id}&ids=${eve.from.id}`)).toBe(2);
    expect(await count('/events?types=webhook.created&types=agent.created,agent.revoked')).toBe(
      (await count('/events?types=webhook.created')) + (await count('/events?types=agent.created,agent.revoked')),
    );
    expect(await count('/audit?actions=read&actions=write')).toBe(await count('/audit?actions=read,write'));
    const [one, two] = ids((await t.call('GET', '/audit?limit=2', { as: admin })).body);
    expect(await count(`/audit?ids=${one}&ids=${two}`)).toBe(2);
    expect(await count(`/audit?not.ids=${one}&not.ids=${two}&limit=1000`)).toBe((await count('/audit?limit=1000')) - 2);
  });

  it('has limits for all parts together', async () => {
    const many = (name: string, times: number): string =>
      Array.from({ length: times }, (_, i) => `${name}=${i}`).join('&');
    const refused = async (query: string): Promise<[number, string]> => {
      const r = await t.call('GET', query, { as: admin });
      return [r.status, r.body.error?.details.issues[0].path];
    };
    expect(await refused(`/agents?${many('ids', 501)}`)).toEqual([400, 'ids']);
    expect((await refused(`/agents?${many('ids', 500)}`))[0]).toBe(200);
    expect(await refused(`/names?${many('ids', 301)}`)).toEqual([400, 'ids']);
    expect(await refused(`/audit?${many('actions', 51)}`)).toEqual([400, 'actions']);
    expect(await refused('/audit?actions=a&actions=')).toEqual([400, 'actions']);
    expect(await refused('/events?types=audit&types=nothing')).toEqual([400, 'types']);
    expect(await refused('/events?types=audit&types=')).toEqual([400, 'types']);
    expect(await refused('/events?types=,')).toEqual([400, 'types']);
    expect(await refused('/events?types=audit,')).toEqual([400, 'types']);
    expect(await refused('/agents?ids=,x')).toEqual([400, 'ids']);
  });
});
