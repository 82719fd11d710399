import { describe, expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import {
  type Answered,
  createTestService,
  dialect,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const read = (resource: string) => ({ resource, actions: ['read'] });
const entries = (count: number) => Array.from({ length: count }, (_, i) => read(`db:${i}`));

const delegate = (
  t: TestService,
  as: { token: string },
  from: TestAgent,
  to: TestAgent,
  more: Record<string, unknown> = {},
): Promise<Answered> =>
  t.call('POST', '/delegations', {
    as,
    body: { fromAgent: from.id, toAgent: to.id, permissions: [read('db:x')], ...more },
  });
const outcome = (r: Answered): unknown =>
  r.status === 201 ? 201 : [r.status, r.body.error.code, r.body.error.details];
const refused = (option: string, limit: number, more: object = {}): unknown => [
  422,
  'DELEGATION_LIMIT_EXCEEDED',
  { option: `delegations.${option}`, limit, ...more },
];

const limited = (delegations: Record<string, number>): Promise<TestService> =>
  createTestService({ config: { delegations } });
const giver = (t: TestService, owner: TestUser): Promise<TestAgent> => t.agent(owner, { permissions: [read('*')] });

describe('limits on delegations', () => {
  it('apply to a pair of agents; ended delegations do not count', async () => {
    const t = await limited({ maxPerPair: 2 });
    const owner = await t.user();
    const [from, to, other] = [await giver(t, owner), await t.agent(owner), await t.agent(owner)];
    const first = await delegate(t, owner, from, to);
    expect(outcome(await delegate(t, owner, from, to, { expiresAt: '2030-01-15T11:00:00.000Z' }))).toBe(201);
    expect(outcome(await delegate(t, owner, from, to))).toEqual(refused('maxPerPair', 2));
    expect(outcome(await delegate(t, owner, from, other))).toBe(201);
    await t.call('DELETE', `/delegations/${first.body.id}`, { as: owner });
    expect(outcome(await delegate(t, owner, from, to))).toBe(201);
    expect(outcome(await delegate(t, owner, from, to))).toEqual(refused('maxPerPair', 2));
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect(outcome(await delegate(t, owner, from, to))).toBe(201);
  });

  it('apply to the delegations from one agent', async () => {
    const t = await limited({ maxGiven: 2 });
    const owner = await t.user();
    const from = await giver(t, owner);
    const to = [await t.agent(owner), await t.agent(owner), await t.agent(owner)];
    const answers = [];
    for (const agent of to) answers.push(outcome(await delegate(t, from, from, agent)));
    expect(answers).toEqual([201, 201, refused('maxGiven', 2)]);
  });

  it('apply to the delegations that one agent receives, and to all permissions in them', async () => {
    const t = await limited({ maxReceived: 3, maxReceivedPermissions: 10 });
    const owner = await t.user();
    const to = await t.agent(owner);
    const from = [await giver(t, owner), await giver(t, owner), await giver(t, owner), await giver(t, owner)] as const;
    expect(outcome(await delegate(t, owner, from[0], to, { permissions: entries(8) }))).toBe(201);
    expect(outcome(await delegate(t, owner, from[1], to, { permissions: entries(3) }))).toEqual(
      refused('maxReceivedPermissions', 10),
    );
    expect(outcome(await delegate(t, owner, from[1], to))).toBe(201);
    expect(outcome(await delegate(t, owner, from[2], to))).toBe(201);
    expect(outcome(await delegate(t, owner, from[3], to))).toEqual(refused('maxReceived', 3));
  });

  it('reserve half of the capacity for agents of the same owner', async () => {
    const t = await limited({ maxReceived: 4, maxReceivedPermissions: 40 });
    const tenantId = await t.tenant();
    const [owner, neighbour] = [await t.user({ tenantId }), await t.user({ tenantId })];
    const to = await t.agent(owner);
    const theirs = await giver(t, neighbour);
    const others = { fromOtherOwners: true };
    expect(outcome(await delegate(t, neighbour, theirs, to, { permissions: entries(21) }))).toEqual(
      refused('maxReceivedPermissions', 20, others),
    );
    expect(outcome(await delegate(t, neighbour, theirs, to))).toBe(201);
    expect(outcome(await delegate(t, neighbour, theirs, to))).toBe(201);
    expect(outcome(await delegate(t, neighbour, theirs, to))).toEqual(refused('maxReceived', 2, others));
    const own = await giver(t, owner);
    expect(outcome(await delegate(t, owner, own, to))).toBe(201);
    expect(outcome(await delegate(t, owner, own, to))).toBe(201);
  });

  it('are exact under concurrency, on PostgreSQL with two instances', async () => {
    const t = await limited({ maxPerPair: 5 });
    const config = { delegations: { maxPerPair: 5 } };
    const second = dialect === 'postgres' ? await createTestService({ sameDatabaseAs: t, config }) : t;
    const owner = await t.user();
    const [from, to] = [await giver(t, owner), await t.agent(owner)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => delegate(i % 2 === 0 ? t : second, owner, from, to)),
    );
    expect(answers.map((r) => r.status).sort()).toEqual([...Array(5).fill(201), ...Array(15).fill(422)]);
    const list = await t.call('GET', `/delegations?toAgent=${to.id}`, { as: owner });
    expect(list.body).toHaveLength(5);
  });

  it('keep decisions about an agent fast, however many delegations it receives', async () => {
    const t = await createTestService();
    const tenantId = await t.tenant();
    const [owner, neighbour] = [await t.user({ tenantId }), await t.user({ tenantId })];
    const victim = await t.agent(owner, { permissions: [read('own:x')] });
    const theirs = await t.agent(neighbour, { permissions: [{ resource: '*', actions: ['*'] }] });
    const many = Array.from({ length: 1000 }, (_, i) => ({ resource: 'db:*', actions: ['read', `other${i}`] }));
    const statuses = [];
    for (let i = 0; i < 5; i++)
      statuses.push((await delegate(t, neighbour, theirs, victim, { permissions: many })).status);
    expect(statuses).toEqual([201, 201, 422, 422, 422]);
    await t.authorize(victim, { action: 'read', resource: 'own:x' });
    const cpu = cpuTimer();
    for (let i = 0; i < 20; i++) {
      expect((await t.authorize(victim, { action: 'read', resource: 'own:x' })).body.allowed).toBe(true);
      expect((await t.authorize(victim, { action: 'write', resource: 'db:y' })).body.reason).toBe('NO_PERMISSION');
    }
    expect(cpu()).toBeLessThan(2000);
  });
});

describe('a delegation', () => {
  it('repeats no entry: 400 names the second; one with other actions or constraints is different', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const [from, to] = [
      await t.agent(owner, { permissions: [{ resource: '*', actions: ['*'] }] }),
      await t.agent(owner),
    ];
    const both = { resource: 'db:x', actions: ['read', 'write'] };
    const repeated = await delegate(t, owner, from, to, {
      permissions: [both, read('db:x'), { ...both, actions: ['write', 'read', 'write'] }],
    });
    expect([repeated.status, repeated.body.error.details.issues]).toEqual([
      400,
      [{ path: 'permissions.2', message: 'repeats an earlier entry' }],
    ]);
    const capped = { ...both, constraints: { maxCallsPerHour: 1 } };
    expect((await delegate(t, owner, from, to, { permissions: [both, capped, read('db:x')] })).status).toBe(201);
  });

  it('without expiresAt is active until it is revoked', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const [from, to] = [await giver(t, owner), await t.agent(owner)];
    const made = [await delegate(t, owner, from, to), await delegate(t, owner, from, to, { expiresAt: null })];
    expect(made.map((r) => [r.status, r.body.expiresAt])).toEqual([
      [201, null],
      [201, null],
    ]);
    t.clock.advance(10 * 365 * 24 * 3600_000);
    const ask = { action: 'read', resource: 'db:x' };
    expect((await t.authorize(to, ask)).body.allowed).toBe(true);
    for (const r of made) await t.call('DELETE', `/delegations/${r.body.id}`, { as: owner });
    expect((await t.authorize(to, ask)).body.allowed).toBe(false);
  });
});
