import { beforeAll, describe, expect, it, vi } from 'vitest';
import { random } from '../../../test/support/random.ts';
import {
  type Answered,
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { openStream } from '../../../test/support/stream.ts';
import { untilPasses } from '../../../test/support/until.ts';
import { TABLE_NAMES } from '../../storage/tables.ts';

let t: TestService;
let admin: TestUser;
let alice: TestUser;
let bob: TestUser;
let tenantId: string;

const read = (resource: string, constraints?: object) => ({
  resource,
  actions: ['read'],
  ...(constraints ? { constraints } : {}),
});
const previewed = (method: string, path: string, as: TestUser | { token: string }, body?: unknown): Promise<Answered> =>
  t.call(method, `${path}?preview=true`, { as, ...(body === undefined ? {} : { body }) });

async function delegate(from: { id: string }, to: { id: string }, permissions: object[]): Promise<string> {
  const r = await t.call('POST', '/delegations', {
    as: admin,
    body: { fromAgent: from.id, toAgent: to.id, permissions, maxDepth: 10 },
  });
  if (r.status !== 201) throw new Error(r.text);
  return r.body.id;
}

/** Tables that are derived from the ledger in the background, and who derives them. */
const DERIVED: readonly string[] = [
  'changes',
  'change_subjects',
  'leases',
  'event_segments',
  'event_columns',
  'agent_activity',
  'agent_hours',
  'decision_slots',
  'projections',
  'anomalies',
  'anomaly_states',
];

/** The content of all tables that are not derived. */
async function dump(): Promise<string> {
  const { read } = t.legate.platform.database;
  // The use of a credential is recorded at any time.
  const plain = (key: string, value: unknown): unknown => (key === 'last_used_at' ? undefined : value);
  const tables: string[] = [];
  for (const name of TABLE_NAMES.filter((name) => !DERIVED.includes(name))) {
    const rows = await read.selectFrom(name).selectAll().execute();
    tables.push(
      `${name}: ${rows
        .map((row) => JSON.stringify(row, plain))
        .sort()
        .join()}`,
    );
  }
  return tables.join('\n');
}

/** The counts of changes that an instance keeps in memory. */
const remembered = (on = t) => {
  const { ledger, policy } = on.legate.platform;
  return JSON.stringify([ledger.stats.changes, ledger.stats.batches, ledger.stats.records, policy.epoch]);
};

/** An event without id and time, which a preview cannot know. */
const comparable = ({ id: _, timestamp: __, ...event }: Json): Json => event;
const without = (event: Json): Json =>
  JSON.parse(JSON.stringify(event, (name, value) => (name === 'updatedAt' ? undefined : value)));

/** The events after a given one, oldest first, as the administrator sees them. */
async function eventsSince(last: string | undefined): Promise<Json[]> {
  const all = (await t.call('GET', '/events?limit=1000', { as: admin })).body as Json[];
  const at = last === undefined ? all.length : all.findIndex(({ id }) => id === last);
  return all.slice(0, at).reverse();
}
const lastEvent = async (): Promise<string | undefined> =>
  (await t.call('GET', '/events?limit=1', { as: admin })).body[0]?.id;

const effective = async (id: string): Promise<Json[]> =>
  (await t.call('GET', `/agents/${id}/permissions`, { as: admin })).body;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  tenantId = await t.tenant();
  alice = await t.user({ tenantId });
  bob = await t.user({ tenantId });
});

describe('preview=true', () => {
  it('shows the effects of a revocation, and changes nothing', async () => {
    const root = await t.agent(alice, { name: 'root', permissions: [read('files:*'), read('db:*')] });
    const middle = await t.agent(alice, { name: 'middle', permissions: [read('own:*')] });
    const leaf = await t.agent(alice, { name: 'leaf' });
    const first = await delegate(root, middle, [read('files:*')]);
    const second = await delegate(middle, leaf, [read('files:a')]);
    await t.authorize(alice, { agentId: leaf.id, action: 'read', resource: 'files:a' });
    const before = await dump();
    const memory = remembered();
    const stream = await openStream(t, { as: admin });
    await stream.until(() => stream.text.length > 0);
    const r = await previewed('DELETE', `/agents/${root.id}`, alice);
    expect(r.status).toBe(200);
    expect(r.body).toMatchObject({ preview: true, hidden: 0, grants: 0, approvals: 0, callsLastHour: 1 });
    expect(r.body.events.map((e: Json) => [e.type, e.data.delegationId ?? e.data.agentId])).toEqual([
      ['agent.revoked', root.id],
      ['delegation.revoked', first],
      ['delegation.revoked', second],
    ]);
    expect(r.body.events[0].actor).toMatchObject({ kind: 'apiToken', userId: alice.id });
    const source = { type: 'delegation', delegationIds: [first] };
    const own = { type: 'own' };
    const losses = [
      {
        agentId: root.id,
        name: 'root',
        permissions: [
          { ...read('files:*'), source: own },
          { ...read('db:*'), source: own },
        ],
        left: 0,
      },
      { agentId: middle.id, name: 'middle', permissions: [{ ...read('files:*'), source }], left: 1 },
      {
        agentId: leaf.id,
        name: 'leaf',
        permissions: [{ ...read('files:a'), source: { ...source, delegationIds: [first, second] } }],
        left: 0,
      },
    ];
    expect([...r.body.loses].sort((a, b) => a.agentId.localeCompare(b.agentId))).toEqual(
      losses.sort((a, b) => a.agentId.localeCompare(b.agentId)),
    );
    expect(await dump()).toBe(before);
    expect(remembered()).toBe(memory);
    expect(stream.seen).toEqual([]);
    await stream.close();
    expect((await t.authorize(leaf, { action: 'read', resource: 'files:a' })).body.allowed).toBe(true);
  });

  it('shows the losses of others by a narrower permission, except those that other permissions cover', async () => {
    const source = await t.agent(alice, { permissions: [{ resource: 'files:*', actions: ['read', 'write'] }] });
    const receiver = await t.agent(alice, { permissions: [read('files:b')] });
    await delegate(source, receiver, [{ resource: 'files:*', actions: ['read', 'write'] }]);
    const narrow = (permissions: object[]) => previewed('PATCH', `/agents/${source.id}`, alice, { permissions });
    const split = await narrow([read('files:*'), { resource: 'files:*', actions: ['write'] }]);
    expect(split.body.loses).toEqual([]);
    expect(split.body.events).toHaveLength(1);
    const capped = await narrow([
      { resource: 'files:*', actions: ['read', 'write'], constraints: { maxCallsPerHour: 5 } },
    ]);
    expect(capped.body.loses.map((l: Json) => l.agentId).sort()).toEqual([source.id, receiver.id].sort());
    const less = await narrow([read('files:*')]);
    expect(less.body.loses.find((l: Json) => l.agentId === receiver.id)).toMatchObject({ left: 2 });
    const widened = await narrow([{ resource: '*', actions: ['*'] }]);
    expect([widened.status, widened.body.loses]).toEqual([200, []]);
    const renamed = await previewed('PATCH', `/agents/${source.id}`, alice, { name: 'other' });
    expect([renamed.body.events[0].after, renamed.body.loses]).toEqual([{ name: 'other' }, []]);
    expect((await t.call('GET', `/agents/${source.id}`, { as: alice })).body.name).toBe('agent');
  });

  it('counts grants and approvals that would end', async () => {
    const agent = await t.agent(alice, { permissions: [read('files:*', { requireApproval: true })] });
    const waiting = await t.authorize(agent, { action: 'read', resource: 'files:a' });
    expect(waiting.body.approvalId).toBeDefined();
    const r = await previewed('DELETE', `/agents/${agent.id}`, alice);
    expect(r.body).toMatchObject({ approvals: 1, callsLastHour: 1 });
    const other = await previewed('PATCH', `/agents/${agent.id}`, alice, {
      permissions: [read('files:*', { requireApproval: true }), read('x:y')],
    });
    expect(other.body).toMatchObject({ approvals: 0, loses: [] });
  });

  it('requires the rights of the change itself, and applies its rules', async () => {
    const agent = await t.agent(alice, { permissions: [read('legate:agents')] });
    expect((await t.call('DELETE', `/agents/${agent.id}?preview=true`)).status).toBe(401);
    expect((await previewed('DELETE', `/agents/${agent.id}`, bob)).status).toBe(404);
    expect((await previewed('DELETE', `/agents/${agent.id}`, agent)).status).toBe(403);
    expect((await previewed('DELETE', `/users/${bob.id}`, alice)).status).toBe(403);
    expect((await previewed('DELETE', '/agents/agt_unknown', alice)).status).toBe(404);
    expect((await previewed('PATCH', `/agents/${agent.id}`, alice, { nonsense: 1 })).status).toBe(400);
    const matching = { as: alice, headers: { 'if-match': '"other"' } };
    expect((await t.call('DELETE', `/agents/${agent.id}?preview=true`, matching)).status).toBe(412);
    await t.call('DELETE', `/agents/${agent.id}`, { as: alice });
    expect((await previewed('PATCH', `/agents/${agent.id}`, alice, { name: 'x' })).status).toBe(409);
    expect((await previewed('DELETE', `/agents/${agent.id}`, alice)).body).toMatchObject({ events: [], loses: [] });
  });

  it('names no agent that the caller cannot see', async () => {
    const mine = await t.agent(alice, { permissions: [read('files:*')] });
    const theirs = await t.agent(bob, { name: 'secret name' });
    await delegate(mine, theirs, [read('files:*')]);
    const r = await previewed('DELETE', `/agents/${mine.id}`, alice);
    expect(r.body.loses.map((l: Json) => l.agentId)).toEqual([mine.id]);
    expect([r.body.hidden, r.text.includes('secret name')]).toEqual([1, false]);
    const all = await previewed('DELETE', `/agents/${mine.id}`, admin);
    expect([all.body.loses.length, all.body.hidden]).toEqual([2, 0]);
  });

  it('answers 400 for an unknown member, and for other values', async () => {
    const agent = await t.agent(alice);
    for (const [method, path, body] of [
      ['GET', '/agents?preview=true'],
      ['POST', '/agents?preview=true', { ownerId: alice.id, name: 'x', type: 'service' }],
      ['POST', '/authorize?preview=true', { agentId: agent.id, action: 'a', resource: 'b' }],
      ['POST', `/agents/${agent.id}/rotate?preview=true`],
      ['DELETE', `/agents/${agent.id}?preview=yes`],
      ['DELETE', `/agents/${agent.id}?preview`],
      ['DELETE', `/agents/${agent.id}?preview=true&preview=true`],
    ] as const) {
      const r = await t.call(method, path, { as: alice, ...(body ? { body } : {}) });
      expect([path, r.status, r.body.error?.code]).toEqual([path, 400, 'VALIDATION_FAILED']);
    }
    expect((await t.call('GET', `/agents/${agent.id}`, { as: alice })).body.status).toBe('active');
    expect((await t.call('DELETE', `/agents/${agent.id}?preview=false`, { as: alice })).status).toBe(204);
  });

  it('is recognised in any spelling of the parameter that the URL standard decodes', async () => {
    const agent = await t.agent(alice);
    for (const name of ['%70review', 'previe%77']) {
      const r = await t.call('DELETE', `/agents/${agent.id}?${name}=true`, { as: alice });
      expect([name, r.status, r.body?.preview]).toEqual([name, 200, true]);
      expect((await t.call('GET', `/agents?${name}=true`, { as: alice })).status).toBe(400);
    }
    expect((await t.call('GET', `/agents/${agent.id}`, { as: alice })).body.status).toBe('active');
  });

  it('is rate-limited for each caller', async () => {
    const strict = await createTestService({
      config: { rateLimit: { endpoints: { preview: { limit: 2, window: 60 } } } },
    });
    const carol = await strict.user();
    const dave = await strict.user();
    const [mine, theirs] = [await strict.agent(carol), await strict.agent(dave)];
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await strict.call('DELETE', `/agents/${mine.id}?preview=true`, { as: carol })).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await strict.call('DELETE', `/agents/${theirs.id}?preview=true`, { as: dave })).status).toBe(200);
    expect((await strict.call('DELETE', `/agents/${mine.id}`, { as: carol })).status).toBe(204);
  });

  it('answers 503 if it takes too long, while decisions continue', async () => {
    const agent = await t.agent(alice, { permissions: [read('files:*')] });
    const before = await dump();
    const now = performance.now.bind(performance);
    let ahead = 0;
    // Every reading of the clock advances it by 200 ms.
    const slow = vi.spyOn(performance, 'now').mockImplementation(() => now() + (ahead += 200));
    const r = await previewed('DELETE', `/agents/${agent.id}`, alice).finally(() => slow.mockRestore());
    expect([r.status, r.body.error.code]).toEqual([503, 'PREVIEW_TIMED_OUT']);
    expect(await dump()).toBe(before);
    expect((await t.authorize(agent, { action: 'read', resource: 'files:a' })).body.allowed).toBe(true);
  });

  it('sends nothing to webhooks', async () => {
    const sending = await createTestService({ config: { webhooks: { allowPrivateNetworks: true } } });
    const carol = await sending.user();
    const { id } = await sending.agent(carol);
    const body = { url: 'http://127.0.0.1:9/', types: ['agent.revoked', 'agent.updated'] };
    const hook = await sending.call('POST', '/webhooks', { as: carol, body });
    expect(hook.status, hook.text).toBe(201);
    const gone = await sending.call('DELETE', `/agents/${id}?preview=true`, { as: carol });
    expect(gone.body.events).toHaveLength(1);
    const renamed = await sending.call('PATCH', `/agents/${id}`, { as: carol, body: { name: 'other' } });
    expect(renamed.status).toBe(200);
    const deliveries = async (): Promise<Json[]> =>
      (await sending.call('GET', `/webhooks/${hook.body.id}/deliveries`, { as: carol })).body;
    // The event of a later change is listed, so an event of the preview would be listed too.
    await untilPasses(async () => expect(await deliveries()).not.toEqual([]), { timeout: 60_000 });
    expect(JSON.stringify(await deliveries())).not.toContain('agent.revoked');
  });

  it('works in process', async () => {
    const agent = await t.agent(alice, { permissions: [read('files:*')] });
    const found = await t.legate.preview((api) => api.agents.revoke(agent.id));
    expect(found).toMatchObject({ preview: true, loses: [{ agentId: agent.id, left: 0 }] });
    expect(found.events[0]).toMatchObject({ type: 'agent.revoked', actor: { kind: 'application' } });
    expect((await t.legate.agents.get(agent.id)).status).toBe('active');
    await expect(t.legate.preview((api) => api.agents.revoke('agt_unknown'))).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    });
  });
});

describe('any request that ends or narrows something', () => {
  // Both databases run the same code, but PostgreSQL is slower.
  const ROUNDS = Number(process.env['LEGATE_TEST_PREVIEW_ROUNDS'] ?? (dialect === 'sqlite' ? 30 : 8));
  const PROBES = ['files:a', 'files:b', 'db:a'].flatMap((resource) =>
    ['read', 'write'].map((action) => ({ resource, action })),
  );
  const draw = random();
  const one = <T>(list: readonly T[]): T => list[draw.below(list.length)] as T;
  const somePermissions = (): object[] =>
    Array.from({ length: 1 + draw.below(2) }, () => ({
      resource: one(['files:*', 'files:a', 'files:b', 'db:*', '*']),
      actions: one([['read'], ['read', 'write'], ['*']]),
    }));

  /** The probes that each agent may do now. */
  async function abilities(ids: readonly string[]): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    for (const agentId of ids) {
      const requests = PROBES.map((probe) => ({ agentId, ...probe, dryRun: true }));
      const { results } = (await t.call('POST', '/authorize/batch', { as: admin, body: { requests } })).body;
      found.set(
        agentId,
        PROBES.flatMap((p, i) => (results[i].allowed ? [`${p.action} ${p.resource}`] : [])),
      );
    }
    return found;
  }

  it(`has the effects of its preview, ${ROUNDS} times (seed ${draw.seed})`, {
    timeout: 120_000 + ROUNDS * 10_000,
  }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const owners = [await t.user({ tenantId }), await t.user({ tenantId })];
      const agents: { id: string; owner: TestUser }[] = [];
      for (let i = 0; i < 6; i++) {
        const owner = one(owners);
        agents.push({ id: (await t.agent(owner, { permissions: somePermissions() })).id, owner });
      }
      const delegations: string[] = [];
      for (let i = 0; i < 8; i++) {
        const r = await t.call('POST', '/delegations', {
          as: admin,
          body: { fromAgent: one(agents).id, toAgent: one(agents).id, permissions: somePermissions(), maxDepth: 6 },
        });
        if (r.status === 201) delegations.push(r.body.id);
      }
      const target = one(agents);
      const requests: [string, string, unknown?][] = [
        ['DELETE', `/agents/${target.id}`],
        ['PATCH', `/agents/${target.id}`, { permissions: somePermissions() }],
        ['DELETE', `/users/${target.owner.id}`],
        ['PATCH', `/users/${target.owner.id}`, { tenantId: null }],
        ...delegations.map((id): [string, string] => ['DELETE', `/delegations/${id}`]),
      ];
      const [method, path, body] = one(requests);
      const ids = agents.map(({ id }) => id);
      const before = await abilities(ids);
      const [dumped, memory, last] = [await dump(), remembered(), await lastEvent()];
      const shown = await previewed(method, path, admin, body);
      expect([method, path, shown.status]).toEqual([method, path, 200]);
      expect(await dump()).toBe(dumped);
      expect(remembered()).toBe(memory);
      const done = await t.call(method, path, { as: admin, ...(body ? { body } : {}) });
      expect(done.status).toBeLessThan(300);
      const events = (await eventsSince(last)).map(comparable);
      expect(events.map(without)).toEqual(shown.body.events.map(without));
      const after = await abilities(ids);
      const ended = new Set(events.filter((e) => e.type === 'agent.revoked').map((e) => e.agentId));
      const lost = new Map((shown.body.loses as Json[]).map((loss) => [loss.agentId, loss]));
      for (const id of ids) {
        const gone = before.get(id)?.filter((ability) => !after.get(id)?.includes(ability)) ?? [];
        if (gone.length > 0 || ended.has(id))
          expect([method, path, id, lost.has(id)]).toEqual([method, path, id, true]);
        const loss = lost.get(id);
        if (!loss) continue;
        expect(loss.left).toBe((await effective(id)).length);
        for (const ability of gone) {
          const [action = '', resource = ''] = ability.split(' ');
          const covers = (p: Json) =>
            (p.actions.includes(action) || p.actions.includes('*')) &&
            (p.resource === '*' ||
              p.resource === resource ||
              (p.resource.endsWith(':*') && resource.startsWith(p.resource.slice(0, -1))));
          expect(loss.permissions.some(covers)).toBe(true);
        }
      }
    }
  });
});
