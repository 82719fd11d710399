import { describe, expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { type Id, newId } from '../../kernel/ids.ts';

const LATER = 10 * 60_000;
const db = (resource = 'db:*', constraints?: object, actions = ['read']) => [
  { resource, actions, ...(constraints ? { constraints } : {}) },
];
const ask = { action: 'read', resource: 'db:x' };

let service: Promise<{ t: TestService; owner: TestUser }> | undefined;
const open = () =>
  (service ??= createTestService({ lasting: true, config: { agents: { maxPerOwner: 10_000 } } }).then(async (t) => {
    t.clock.set('2030-01-15T10:00:00.000Z');
    return { t, owner: await t.user() };
  }));

/** Creates agents of one owner, the first with `permissions`. Every test begins with a new clock hour. */
async function cast(count: number, permissions: object[] = db()) {
  const { t, owner } = await open();
  t.clock.set(new Date((Math.floor(t.clock.now() / 3_600_000) + 1) * 3_600_000).toISOString());
  const agents: TestAgent[] = [];
  for (let i = 0; i < count; i++) agents.push(await t.agent(owner, { permissions: i === 0 ? permissions : [] }));
  const give = async (from: number, to: number, more: object = {}): Promise<string> => {
    const r = await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: agents[from]?.id, toAgent: agents[to]?.id, permissions: db(), ...more },
    });
    expect(r.status, r.text).toBe(201);
    return r.body.id;
  };
  const may = async (i: number, more: object = {}) =>
    (await t.authorize(agents[i] as TestAgent, { ...ask, ...more })).body;
  const listed = async (from: number): Promise<string[]> =>
    (await t.call('GET', `/delegations?fromAgent=${agents[from]?.id}`, { as: owner })).body.map(
      (d: { id: string }) => d.id,
    );
  const patch = (i: number, body: object) => t.call('PATCH', `/agents/${agents[i]?.id}`, { as: owner, body });
  const inMinutes = (n: number): string => new Date(t.clock.now() + n * 60_000).toISOString();
  return { t, owner, agents, give, may, listed, patch, inMinutes };
}

describe('POST /authorize through a chain', () => {
  it('200 RATE_LIMITED with limit and reset of a cap further up; a dry run counts nothing', async () => {
    const { give, may, inMinutes } = await cast(3, db('db:*', { maxCallsPerHour: 2 }));
    await give(0, 1);
    await give(1, 2, { permissions: db('db:*', { maxCallsPerHour: 100 }) });
    for (let i = 0; i < 5; i++) expect(await may(2, { dryRun: true })).toEqual({ allowed: true });
    expect([(await may(2)).allowed, (await may(0)).allowed]).toEqual([true, true]);
    expect(await may(2)).toEqual({
      allowed: false,
      auditId: expect.stringMatching(/^aud_/),
      reason: 'RATE_LIMITED',
      retryAfter: 3600,
      limit: 2,
      remaining: 0,
      resetAt: inMinutes(60),
    });
    expect(await may(2, { dryRun: true })).toMatchObject({ allowed: false, reason: 'RATE_LIMITED', limit: 2 });
  });

  it('200 in a batch: answers in order, exact caps, and the chain in each entry of GET /audit', async () => {
    const { t, owner, agents, give } = await cast(3, db('db:*', { maxCallsPerHour: 2 }));
    const chain = [await give(0, 1), await give(1, 2)];
    const requests = [2, 1, 0, 2].map((i) => ({ ...ask, agentId: agents[i]?.id }));
    const { body } = await t.call('POST', '/authorize/batch', { as: owner, body: { requests } });
    expect(body.results.map((r: { allowed: boolean; reason?: string }) => r.allowed || r.reason)).toEqual([
      true,
      true,
      'RATE_LIMITED',
      'RATE_LIMITED',
    ]);
    const entries = (await t.call('GET', `/audit?agentId=${agents[2]?.id}`, { as: owner })).body;
    expect(entries.map((e: { result: string; delegationIds: string[] }) => [e.result, e.delegationIds])).toEqual([
      ['rate_limited', []],
      ['allowed', chain],
    ]);
  });

  it('200 with explain: names the link that does not permit the call', async () => {
    const { t, agents, give, may, patch, inMinutes } = await cast(4);
    await give(0, 1, { expiresAt: inMinutes(10) });
    const traced = async (i: number) =>
      (await may(i, { explain: true, dryRun: true })).trace.entries.map((e: { outcome: string }) => e.outcome);
    await patch(1, { permissions: db('db:*', { maxCallsPerHour: 0 }) });
    await give(1, 2);
    expect(await traced(1)).toEqual(['rate-limited', 'allowed']);
    await give(1, 3, { maxDepth: 1 });
    await patch(1, { permissions: [] });
    expect(await traced(2)).toEqual(['allowed']);
    expect(await traced(3)).toEqual(['source-does-not-hold']);
    t.clock.advance(LATER);
    expect(await traced(1)).toEqual(['delegation-expired']);
    expect(await traced(2)).toEqual(['source-does-not-hold']);
    expect((await t.authorize(agents[2] as TestAgent, ask)).body.reason).toBe('NO_PERMISSION');
  });
});

describe('POST /authorize with explain through a chain', () => {
  it('200: shows each link up to the root, and which of them does not permit the call', async () => {
    const { t, owner, agents, give, may, patch, inMinutes } = await cast(3, db('db:*', { maxCallsPerHour: 1 }));
    const chain = [await give(0, 1), await give(1, 2, { permissions: db('db:x') })];
    await patch(1, { permissions: [{ resource: 'other:*', actions: ['read'] }] });
    const own = {
      index: 0,
      resource: 'db:*',
      actions: ['read'],
      constraints: { maxCallsPerHour: 1 },
      source: { type: 'own' },
      outcome: 'allowed',
      used: 0,
      limit: 1,
    };
    const middle = {
      index: 1,
      resource: 'db:*',
      actions: ['read'],
      source: {
        type: 'delegation',
        delegationId: chain[0],
        fromAgent: agents[0]?.id,
        fromStatus: 'active',
        entries: [own],
      },
      outcome: 'allowed',
    };
    const asked = await may(2, { explain: true });
    expect(asked.trace.entries).toEqual([
      {
        index: 0,
        resource: 'db:x',
        actions: ['read'],
        source: {
          type: 'delegation',
          delegationId: chain[1],
          fromAgent: agents[1]?.id,
          fromStatus: 'active',
          entries: [middle],
        },
        outcome: 'allowed',
      },
    ]);
    const recorded = (await t.call('GET', `/audit/${asked.auditId}/explain`, { as: owner })).body.trace.entries[0];
    expect(recorded.source.entries[0].source.entries[0]).toEqual(own);

    type Seen = { outcome: string; source: { fromStatus?: string; entries?: Seen[] } };
    const seen = ({ outcome, source }: Seen): unknown[] => [
      outcome,
      ...(source.fromStatus ? [source.fromStatus, ...(source.entries ?? []).map(seen)] : []),
    ];
    const traced = async () => seen((await may(2, { explain: true, dryRun: true })).trace.entries[0]);
    expect(await traced()).toEqual(['rate-limited', 'active', ['rate-limited', 'active', ['rate-limited']]]);
    await patch(0, { permissions: db('db:y') });
    expect(await traced()).toEqual(['source-does-not-hold', 'active', ['source-does-not-hold', 'active']]);
    await patch(1, { expiresAt: inMinutes(1) });
    t.clock.advance(LATER);
    expect(await traced()).toEqual(['source-does-not-hold', 'expired']);
  });

  it('200 with at most 100 entries of agents above; the others are counted', async () => {
    const { give, may, patch } = await cast(3, db());
    await give(0, 1);
    await patch(1, { permissions: Array.from({ length: 150 }, () => db('db:*', { maxCallsPerHour: 0 })[0]) });
    await give(1, 2);
    const { trace } = await may(2, { explain: true, dryRun: true });
    expect([trace.entries[0].outcome, trace.entries[0].source.entries.length, trace.omitted]).toEqual([
      'allowed',
      100,
      51,
    ]);
  });

  it('200: does not show permissions of an agent of another owner', async () => {
    const { t } = await open();
    const tenantId = await t.tenant();
    const [giver, taker] = [await t.user({ tenantId }), await t.user({ tenantId })];
    const [from, to] = [await t.agent(giver, { permissions: db() }), await t.agent(taker)];
    const d = (
      await t.call('POST', '/delegations', {
        as: giver,
        body: { fromAgent: from.id, toAgent: to.id, permissions: db() },
      })
    ).body;
    const { trace } = (await t.authorize(taker, { ...ask, agentId: to.id, explain: true })).body;
    expect(trace.entries[0]).toMatchObject({ outcome: 'allowed' });
    expect(trace.entries[0].source).toEqual({ type: 'delegation', delegationId: d.id, fromAgent: from.id });
  });
});

describe('ended delegations', () => {
  it('never become active again, even if the source later gets the permission itself', async () => {
    const { t, give, may, listed, patch, inMinutes } = await cast(3);
    await give(0, 1, { expiresAt: inMinutes(10) });
    await give(1, 2);
    t.clock.advance(LATER);
    await patch(1, { permissions: db() });
    expect(await listed(1)).toEqual([]);
    expect((await may(2)).reason).toBe('NO_PERMISSION');
    // A new delegation in the opposite direction closes no cycle with an ended one.
    await give(1, 0);
  });

  it('end earlier when the parent with the later expiry is revoked', async () => {
    const { t, owner, give, may, listed, inMinutes } = await cast(4);
    const long = await give(0, 1);
    await give(0, 1, { expiresAt: inMinutes(10) });
    const [second, third] = [await give(1, 2), await give(2, 3)];
    await t.call('DELETE', `/delegations/${long}`, { as: owner });
    expect([await listed(1), await listed(2), (await may(3)).allowed]).toEqual([[second], [third], true]);
    t.clock.advance(LATER);
    expect([await listed(1), await listed(2), (await may(3)).reason]).toEqual([[], [], 'NO_PERMISSION']);
  });

  it('204 for revoking an expired delegation, without an event', async () => {
    const { t, owner, agents, give, inMinutes } = await cast(2);
    const id = await give(0, 1, { expiresAt: inMinutes(10) });
    t.clock.advance(LATER);
    expect((await t.call('GET', `/delegations/${id}`, { as: owner })).status).toBe(404);
    expect((await t.call('DELETE', `/delegations/${id}`, { as: owner })).status).toBe(204);
    await t.call('DELETE', `/agents/${agents[0]?.id}`, { as: owner });
    expect((await eventsOf(t, agents[0]?.id)).filter((e) => e.type === 'delegation.revoked')).toEqual([]);
  });

  it('are explained for another hour, then ignored', async () => {
    const { t, give, may, inMinutes } = await cast(2);
    const seen = async () =>
      (await may(1, { explain: true, dryRun: true })).trace.entries.map((e: { outcome: string }) => e.outcome);
    for (let i = 0; i < 3; i++) await give(0, 1, { expiresAt: inMinutes(10) });
    t.clock.advance(LATER);
    await give(0, 1, { expiresAt: inMinutes(1) });
    expect(await seen()).toEqual(['delegation-expired', 'delegation-expired', 'delegation-expired', 'allowed']);
    t.clock.advance(60 * 60_000);
    await give(0, 1);
    expect(await seen()).toEqual(['delegation-expired', 'allowed']);
  });

  it("keep, per action, the part that the source's own permissions support", async () => {
    const { t, owner, give, may, patch, listed } = await cast(3, db('db:*', undefined, ['read', 'write']));
    const first = await give(0, 1, { permissions: db('db:*', undefined, ['write']) });
    await patch(1, { permissions: db() });
    const second = await give(1, 2, { permissions: db('db:*', undefined, ['read', 'write']) });
    expect([(await may(2)).allowed, (await may(2, { action: 'write' })).allowed]).toEqual([true, true]);
    await t.call('DELETE', `/delegations/${first}`, { as: owner });
    expect([await listed(1), (await may(2)).allowed, (await may(2, { action: 'write' })).reason]).toEqual([
      [second],
      true,
      'NO_PERMISSION',
    ]);
  });

  it('cause an event with exact payload and reason when an agent in the middle is revoked', async () => {
    const { t, owner, agents, give } = await cast(4);
    const ids = [await give(0, 1), await give(1, 2), await give(2, 3)];
    await t.call('DELETE', `/agents/${agents[1]?.id}`, { as: owner });
    const told = (await Promise.all(agents.map((a) => eventsOf(t, a.id))))
      .flat()
      .filter((e) => e.type === 'delegation.revoked');
    expect(told.map((e) => [e.agentId, e.userId, e.data])).toEqual(
      ids.map((delegationId, i) => {
        const [from, to] = [agents[i]?.id, agents[i + 1]?.id];
        return [
          from,
          owner.id,
          { delegationId, fromAgent: from, toAgent: to, reason: i < 2 ? 'agent-revoked' : 'ancestor-revoked' },
        ];
      }),
    );
  });
});

describe('GET /agents/:id/permissions through chains', () => {
  it('200: the constraints of all links and the lowest cap, without chains that are too long or ended', async () => {
    const { t, owner, agents, give, patch, inMinutes } = await cast(
      4,
      db('*', { maxCallsPerHour: 5, ipAllowlist: ['192.0.2.1'] }),
    );
    const first = await give(0, 1, { permissions: db('db:*', { maxCallsPerHour: 9 }), expiresAt: inMinutes(10) });
    const second = await give(1, 2, {
      permissions: db('db:*', { timeWindow: { start: '00:00', end: '23:00' } }),
      maxDepth: 2,
    });
    const held = async (i: number) => (await t.call('GET', `/agents/${agents[i]?.id}/permissions`, { as: owner })).body;
    expect(await held(2)).toEqual([
      {
        resource: 'db:*',
        actions: ['read'],
        constraints: { maxCallsPerHour: 5, ipAllowlist: ['192.0.2.1'], timeWindow: { start: '00:00', end: '23:00' } },
        source: { type: 'delegation', delegationIds: [first, second] },
        lastUsedAt: null,
      },
    ]);
    await patch(2, { permissions: db('own') });
    t.clock.advance(LATER);
    expect(await held(2)).toEqual([{ resource: 'own', actions: ['read'], source: { type: 'own' }, lastUsedAt: null }]);
    expect(await held(3)).toEqual([]);
  });
});

describe('a dense graph: 9 layers of 20 agents, each delegating to all of the next', () => {
  it('decisions, lists and new delegations take at most five seconds each', async () => {
    const [width, layers] = [20, 9];
    const { t, owner, agents, may, patch } = await cast(width * layers + 2, db('db:*', undefined, ['*']));
    const last = width * layers;
    const below = (i: number): number[] =>
      (i === 0 ? [1] : [Math.ceil(i / width) * width + 1]).flatMap((first) =>
        Array.from({ length: first > last ? 0 : width }, (_, n) => first + n),
      );
    await t.legate.platform.ledger.change(SYSTEM, async ({ db: change, now, epoch, invalidate }) => {
      for (let i = 0; i <= last; i++) {
        const rows = below(i).map((to) => ({
          id: newId('delegation', now),
          from_agent: agents[i]?.id as Id<'agent'>,
          to_agent: agents[to]?.id as Id<'agent'>,
          from_owner: owner.id,
          to_owner: owner.id,
          permissions: JSON.stringify(db('db:*', undefined, ['*'])),
          depth: 1,
          max_depth: 10,
          expires_at: null,
          ends_at: null,
          created_at: now,
          revoked_at: null,
          self_supplied: 1,
          policy_epoch: epoch,
        }));
        if (rows.length > 0) await change.insertInto('delegations').values(rows).execute();
      }
      invalidate();
    });
    const quick = async (work: () => Promise<unknown>): Promise<unknown> => {
      const cpu = cpuTimer();
      const answer = await work();
      expect(cpu()).toBeLessThan(5000);
      return answer;
    };
    const held = () => t.call('GET', `/agents/${agents[last]?.id}/permissions`, { as: owner });
    const pass = async (permissions: object[] = db()) =>
      (
        await t.call('POST', '/delegations', {
          as: owner,
          body: { fromAgent: agents[last]?.id, toAgent: agents[last + 1]?.id, permissions, maxDepth: 10 },
        })
      ).body;
    const manyActions = Array.from({ length: 100 }, (_, i) => `act${i}`);
    expect(await quick(() => may(last))).toMatchObject({ allowed: true });
    expect(await quick(async () => (await held()).body.length)).toBeGreaterThan(0);
    expect(await quick(async () => (await pass()).depth)).toBe(10);
    const all = Array.from({ length: 500 }, (_, i) => ({ resource: `db:${i}`, actions: manyActions }));
    expect(await quick(async () => (await pass(all)).error.details.issues[0].path)).toBe('permissions');
    await patch(0, { permissions: db('db:*', { maxCallsPerHour: 0 }) });
    expect(await quick(async () => (await may(last)).reason)).toBe('RATE_LIMITED');
    await patch(0, { permissions: [] });
    expect(await quick(async () => (await may(last, { explain: true })).reason)).toBe('NO_PERMISSION');
    expect(await quick(async () => (await held()).body)).toEqual([]);
    expect(await quick(async () => (await pass()).error.code)).toBe('INSUFFICIENT_PERMISSIONS');
  });
});
