import { describe, expect, it } from 'vitest';
import type { EventType } from '../../src/ledger/index.ts';
import { createTestService, dialect, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

const gh = (more: object = {}) => [{ resource: 'mcp:gh:*', actions: ['read'], ...more }];
const ask = { action: 'read', resource: 'mcp:gh:x' };

/** The instances of the service: two on one PostgreSQL database, or one on SQLite. */
async function instances(): Promise<TestService[]> {
  const first = await createTestService();
  return dialect === 'postgres' ? [first, await createTestService({ sameDatabaseAs: first })] : [first];
}

async function delegate(
  t: TestService,
  owner: TestUser,
  from: TestAgent,
  to: TestAgent,
  permissions: object[] = gh(),
): Promise<string> {
  const r = await t.call('POST', '/delegations', {
    as: owner,
    body: { fromAgent: from.id, toAgent: to.id, permissions },
  });
  expect(r.status).toBe(201);
  return r.body.id;
}

/** A chain a -> b -> c -> d, and changes that each end the permission of d. */
const ENDS: readonly (readonly [
  what: string,
  event: EventType,
  end: (
    t: TestService,
    w: { owner: TestUser; a: TestAgent; b: TestAgent; first: string; second: string },
  ) => Promise<{ status: number }>,
])[] = [
  [
    'the first delegation is revoked',
    'delegation.revoked',
    (t, { owner, first }) => t.call('DELETE', `/delegations/${first}`, { as: owner }),
  ],
  [
    'one in the middle is revoked',
    'delegation.revoked',
    (t, { owner, second }) => t.call('DELETE', `/delegations/${second}`, { as: owner }),
  ],
  [
    'the root agent is revoked',
    'agent.revoked',
    (t, { owner, a }) => t.call('DELETE', `/agents/${a.id}`, { as: owner }),
  ],
  [
    'an agent in the middle is revoked',
    'agent.revoked',
    (t, { owner, b }) => t.call('DELETE', `/agents/${b.id}`, { as: owner }),
  ],
  [
    'the root loses the permission',
    'agent.updated',
    (t, { owner, a }) => t.call('PATCH', `/agents/${a.id}`, { as: owner, body: { permissions: [] } }),
  ],
  [
    'an agent in the middle expires',
    'agent.updated',
    (t, { owner, b }) =>
      t.call('PATCH', `/agents/${b.id}`, { as: owner, body: { expiresAt: '2030-01-15T10:10:00.001Z' } }),
  ],
];

describe('nothing is allowed after the response to a change that ended it', () => {
  it.each(ENDS)('when %s', async (what, event, end) => {
    const services = await instances();
    const [t] = services as [TestService];
    const owner = await t.user();
    const [a, b, c, d] = [
      await t.agent(owner, { permissions: gh() }),
      await t.agent(owner),
      await t.agent(owner),
      await t.agent(owner),
    ];
    const [first, second] = [await delegate(t, owner, a, b), await delegate(t, owner, b, c)];
    await delegate(t, owner, c, d);

    let ended = false;
    let allowedBefore = 0;
    const late: string[] = [];
    const ids = new Set<string>();
    const client = async (n: number): Promise<void> => {
      const service = services[n % services.length] as TestService;
      for (let after = 0; after < 3; ) {
        const askedAfter = ended;
        if (askedAfter) after++;
        const r = await service.authorize(n % 3 === 0 ? owner : d, n % 3 === 0 ? { ...ask, agentId: d.id } : ask);
        expect(r.status).toBe(200);
        if (!r.body.allowed) continue;
        ids.add(r.body.auditId);
        if (askedAfter) late.push(r.body.auditId);
        else allowedBefore++;
      }
    };
    const clients = Array.from({ length: 8 }, (_, n) => client(n));
    while (allowedBefore < 20) await new Promise((go) => setImmediate(go));
    expect((await end(t, { owner, a, b, first, second })).status, what).toBeLessThan(300);
    if (what.includes('expires')) t.clock.advance(1);
    ended = true;
    await Promise.all(clients);
    expect(late).toEqual([]);

    // In the order of the ledger, every allowed call precedes the end too.
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['id', 'seq', 'type', 'result'])
      .execute();
    const endedAt = Number(rows.find((row) => row.type === event)?.seq);
    const allows = rows.filter((row) => row.result === 'allowed');
    expect(allows.map((row) => row.id).sort()).toEqual([...ids].sort());
    if (!what.includes('expires')) expect(Math.max(...allows.map((row) => Number(row.seq)))).toBeLessThan(endedAt);
  });
});

describe('caps under 200 parallel calls', () => {
  it('allow exactly their number of calls, across three generations of agents and all instances', async () => {
    const services = await instances();
    const [t] = services as [TestService];
    const owner = await t.user();
    const root = await t.agent(owner, { permissions: gh({ constraints: { maxCallsPerHour: 50 } }) });
    const [b, c, d, e] = [await t.agent(owner), await t.agent(owner), await t.agent(owner), await t.agent(owner)];
    await delegate(t, owner, root, b);
    await delegate(t, owner, root, c, gh({ constraints: { maxCallsPerHour: 10 } }));
    await delegate(t, owner, b, d);
    await delegate(t, owner, c, e);
    const callers = [root, b, c, d, e];
    let start = (): void => {};
    const barrier = new Promise<void>((go) => {
      start = go;
    });
    const calls = Array.from({ length: 200 }, async (_, i) => {
      await barrier;
      const caller = callers[i % callers.length] as TestAgent;
      const r = await (services[i % services.length] as TestService).authorize(caller, {
        ...ask,
        resource: `mcp:gh:${i}`,
      });
      return { caller, allowed: r.body.allowed as boolean, reason: r.body.reason as string | undefined };
    });
    start();
    const answers = await Promise.all(calls);
    expect(answers.filter((x) => x.allowed)).toHaveLength(50);
    expect(answers.filter((x) => x.allowed && (x.caller === c || x.caller === e)).length).toBeLessThanOrEqual(10);
    expect(new Set(answers.filter((x) => !x.allowed).map((x) => x.reason))).toEqual(new Set(['RATE_LIMITED']));
    // Refused calls do not count, so the next hour starts with the full cap.
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect((await t.authorize(e, ask)).body.allowed).toBe(true);
  });
});

describe('concurrent changes', () => {
  it('50 parallel delegations in both directions never close a cycle', async () => {
    const services = await instances();
    const [t] = services as [TestService];
    const owner = await t.user();
    const agents = await Promise.all([1, 2, 3].map(() => t.agent(owner, { permissions: gh() })));
    const tries = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const [from, to] = [agents[i % 3] as TestAgent, agents[(i + 1 + (i % 2)) % 3] as TestAgent];
        const r = await (services[i % services.length] as TestService).call('POST', '/delegations', {
          as: owner,
          body: { fromAgent: from.id, toAgent: to.id, permissions: gh() },
        });
        return r.status === 201 ? 'created' : r.body.error.code;
      }),
    );
    expect(new Set(tries)).toEqual(new Set(['created', 'DELEGATION_CYCLE']));
    const made = await t.legate.delegations.list();
    const reaches = (from: string, to: string): boolean =>
      made.some((d) => d.fromAgent === from && (d.toAgent === to || reaches(d.toAgent, to)));
    for (const { id } of agents) expect(reaches(id, id)).toBe(false);
  });

  it('a delegation that is created while its source is being revoked does not outlive it', async () => {
    const services = await instances();
    const [t] = services as [TestService];
    const owner = await t.user();
    const target = await t.agent(owner);
    for (let round = 0; round < 5; round++) {
      const source = await t.agent(owner, { permissions: gh() });
      const outcomes = await Promise.all([
        ...Array.from({ length: 6 }, (_, i) =>
          (services[i % services.length] as TestService).call('POST', '/delegations', {
            as: owner,
            body: { fromAgent: source.id, toAgent: target.id, permissions: gh() },
          }),
        ),
        t.call('DELETE', `/agents/${source.id}`, { as: owner }),
      ]);
      for (const r of outcomes.slice(0, -1)) expect([201, 422]).toContain(r.status);
      expect(await t.legate.delegations.list({ fromAgent: source.id })).toEqual([]);
      for (const service of services) expect((await service.authorize(target, ask)).body.reason).toBe('NO_PERMISSION');
    }
  });

  it('a delegation that many requests revoke concurrently ends once', async () => {
    const services = await instances();
    const [t] = services as [TestService];
    const owner = await t.user();
    const [a, b, c] = [await t.agent(owner, { permissions: gh() }), await t.agent(owner), await t.agent(owner)];
    const id = await delegate(t, owner, a, b);
    await delegate(t, owner, b, c);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (services[i % services.length] as TestService).call('DELETE', `/delegations/${id}`, { as: owner }),
      ),
    );
    expect(new Set(answers.map((r) => r.status))).toEqual(new Set([204]));
    const { events } = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select((eb) => eb.fn.countAll().as('events'))
      .where('type', '=', 'delegation.revoked')
      .executeTakeFirstOrThrow();
    expect(Number(events)).toBe(2);
  });
});
