import { describe, expect, it } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import { deleteExpiredAnswers } from '../../src/http/idempotency/store.ts';
import { EventIndex, LedgerReader } from '../../src/ledger/index.ts';
import { PostgresBatchStore } from '../../src/ledger/postgres-store.ts';
import type { Log } from '../../src/platform.ts';
import { createTestService, dialect, FakeClock, type TestAgent, type TestService } from '../support/service.ts';
import { MAY_READ, newWorld, type World } from '../support/world.ts';

const ask = (t: TestService, agent: TestAgent) => t.authorize(agent, { action: 'read', resource: 'db:x' });

const timesOf = async (t: TestService): Promise<number[]> =>
  (await t.legate.platform.database.read.selectFrom('stream_events').select('timestamp').orderBy('seq').execute()).map(
    (row) => row.timestamp,
  );

interface TwoClocks extends Pick<World, 'agent'> {
  /** The clock of the database. */
  readonly right: FakeClock;
  /** The clock of the second instance. */
  readonly own: FakeClock;
  readonly a: TestService;
  readonly b: TestService;
  readonly warnings: string[];
}

async function world(): Promise<TwoClocks> {
  const [right, own] = [new FakeClock(), new FakeClock()];
  const warnings: string[] = [];
  const log: Log = { debug: () => {}, info: () => {}, error: () => {}, warn: (_, text) => warnings.push(text) };
  const { t: a, agent } = await newWorld(MAY_READ, { clock: right });
  const b = await createTestService({ sameDatabaseAs: a, clock: own, databaseClock: right, log });
  return { right, own, a, b, agent, warnings };
}

describe('an instance whose clock is wrong', () => {
  it('by seconds: records with the time of the database and logs the difference once', async () => {
    const { right, own, b, agent, warnings } = await world();
    own.advance(10_000);
    for (let i = 0; i < 3; i++) expect((await ask(b, agent)).body.allowed).toBe(true);
    expect(new Set(await timesOf(b))).toEqual(new Set([right.now()]));
    expect(b.legate.platform.ledger.time.offMs).toBe(10_000);
    expect(warnings).toEqual([
      'the clock of this instance differs from that of the database: synchronize both with NTP',
    ]);
  });

  it.each([400 * 86_400_000, 300_000, -300_000])('by %d ms: writes nothing until its clock is right', async (off) => {
    const { right, own, a, b, agent } = await world();
    const before = await timesOf(a);
    own.advance(off);
    const refused = await ask(b, agent);
    expect([refused.status, refused.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    await expect(
      b.legate.platform.ledger.change(SYSTEM, async (change) => change.emit({ type: 'agent.updated', data: {} })),
    ).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'The service cannot read or write its data at the moment. Try again.',
    });
    expect(await timesOf(a)).toEqual(before);
    expect((await ask(a, agent)).body.allowed).toBe(true);
    own.advance(-off);
    expect((await ask(b, agent)).body.allowed).toBe(true);
    expect(new Set(await timesOf(a))).toEqual(new Set([right.now()]));
  });
});

describe('a ledger whose time is ahead', () => {
  it('does not advance, reports this, and is set back by a reset with an event', async () => {
    const { right, own, a, b, agent, warnings } = await world();
    for (const clock of [right, own]) clock.advance(86_400_000);
    await ask(a, agent);
    for (const clock of [right, own]) clock.advance(-86_400_000);
    await ask(b, agent);
    const ahead = right.now() + 86_400_000;
    expect((await timesOf(a)).at(-1)).toBe(ahead);
    expect(b.legate.platform.ledger.time.aheadMs).toBe(86_400_000);
    expect(warnings.join()).toContain('legate clock reset');
    const { ledger } = b.legate.platform;
    expect(await ledger.resetClock(SYSTEM)).toEqual({ from: ahead, to: right.now() });
    expect(await ledger.resetClock(SYSTEM)).toBeUndefined();
    await ask(a, agent);
    expect((await timesOf(a)).slice(-2)).toEqual([right.now(), right.now()]);
    const event = await a.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['type', 'data'])
      .orderBy('seq', 'desc')
      .limit(1)
      .offset(1)
      .executeTakeFirstOrThrow();
    expect([event.type, JSON.parse(event.data ?? '')]).toEqual([
      'ledger.clock_reset',
      { from: new Date(ahead).toISOString(), to: new Date(right.now()).toISOString() },
    ]);
  });
});

describe('after a reset of a ledger whose time was ahead', () => {
  const DAY = 86_400_000;

  it('each entry is found by its id, whether older, of the fast clock, or newer', async () => {
    const { t, agent, owner } = await newWorld(MAY_READ);
    const { ledger } = t.legate.platform;
    const ids = [(await ask(t, agent)).body.auditId];
    t.clock.advance(DAY);
    ids.push((await ask(t, agent)).body.auditId);
    await ledger.change(SYSTEM, async (change) => {
      for (let i = 0; i < 9000; i++) change.emit({ type: 'agent.updated', data: {} });
    });
    ids.push((await ask(t, agent)).body.auditId);
    t.clock.advance(-DAY + 60_000);
    await ledger.resetClock(SYSTEM);
    ids.push((await ask(t, agent)).body.auditId);
    t.clock.advance(2 * DAY);
    ids.push((await ask(t, agent)).body.auditId);
    const found = [];
    for (const id of ids) found.push((await t.call('GET', `/audit/${id}`, { as: owner })).body.id);
    expect(found).toEqual(ids);
    expect((await t.call('GET', '/audit/aud_unknown', { as: owner })).status).toBe(404);
  });

  it('an entry of the fast clock is found by its id among many newer ones', async () => {
    const { t, agent, owner } = await newWorld(MAY_READ);
    const { ledger } = t.legate.platform;
    const ids: string[] = [];
    for (let i = 1; i <= 3; i++) {
      t.clock.advance(DAY);
      ids.push((await ask(t, agent)).body.auditId);
      t.clock.advance(-DAY + 60_000);
      await ledger.resetClock(SYSTEM);
      for (let more = 0; more < 20; more++) ids.push((await ask(t, agent)).body.auditId);
    }
    t.clock.advance(2 * DAY);
    for (let more = 0; more < 100; more++) await ask(t, agent);
    const statuses = [];
    for (const id of ids) statuses.push((await t.call('GET', `/audit/${id}`, { as: owner })).status);
    expect(statuses).toEqual(ids.map(() => 200));
  });

  it('a search by time finds newer entries, and those of the fast clock as recorded before it', async () => {
    const { t, agent, owner } = await newWorld(MAY_READ);
    const { ledger } = t.legate.platform;
    const decide = async (count: number): Promise<string[]> => {
      const ids = [];
      for (let i = 0; i < count; i++) ids.push((await ask(t, agent)).body.auditId);
      return ids;
    };
    const at = (ms: number) => new Date(t.clock.now() + ms).toISOString();
    const old = await decide(3);
    t.clock.advance(DAY);
    const fast = await decide(40);
    t.clock.advance(-DAY + 60_000);
    await ledger.resetClock(SYSTEM);
    const reset = at(1);
    t.clock.advance(60_000);
    const newer = await decide(5);
    const found = async (query: string): Promise<string[]> =>
      (await t.call('GET', `/audit?order=asc&${query}`, { as: owner })).body.map(({ id }: { id: string }) => id);
    expect(await found(`since=${reset}&until=${at(1)}`)).toEqual(newer);
    expect(await found(`until=${reset}`)).toEqual([...old, ...fast]);
    expect(await found(`since=${at(-600_000)}&until=${at(DAY / 2)}`)).toEqual([...old, ...fast, ...newer]);
    expect(await found(`since=${at(1)}`)).toEqual([]);
  });

  it('decisions before and after it are counted by their own times', async () => {
    const { t, agent, owner } = await newWorld(MAY_READ);
    const { platform } = t.legate;
    const index = new EventIndex(platform.database, (work) => platform.ledger.maintain(work), 50);
    Object.assign(platform, {
      reader: new LedgerReader(platform.database, index, () => platform.ledger.stats.records),
    });
    const since = t.clock.now();
    for (let i = 0; i < 10; i++) await ask(t, agent);
    t.clock.advance(DAY);
    for (let i = 0; i < 5; i++) await ask(t, agent);
    t.clock.advance(1);
    await ask(t, agent);
    // The last byte of the difference to this time has the bit that announces further bytes.
    t.clock.advance(-DAY - 1);
    await platform.ledger.resetClock(SYSTEM);
    for (let i = 0; i < 100; i++) await ask(t, agent);
    await index.catchUp();
    const until = new Date(since + 2 * DAY).toISOString();
    const query = `since=${new Date(since).toISOString()}&until=${until}&buckets=2`;
    const { body } = await t.call('GET', `/audit/histogram?${query}`, { as: owner });
    expect(body.buckets.map(({ counts }: { counts: { allowed: number } }) => counts.allowed)).toEqual([110, 6]);
  });

  it('an Idempotency-Key of the fast clock can be used again after a day', async () => {
    const { t, agent, owner } = await newWorld(MAY_READ);
    const body = { name: 'made once', type: 'service', ownerId: owner.id, permissions: [] };
    const use = async (key: string) => {
      const headers = { 'idempotency-key': key };
      const call = { agentId: agent.id, action: 'read', resource: 'db:x' };
      const { status } = await t.call('POST', '/agents', { as: owner, body, headers });
      return { status, id: (await t.call('POST', '/authorize', { as: owner, body: call, headers })).body.auditId };
    };
    const kept = async () => {
      const { read } = t.legate.platform.database;
      const tables = ['idempotency_keys', 'kept_decisions'] as const;
      const rows = await Promise.all(tables.map((table) => read.selectFrom(table).select('expires_at').execute()));
      return rows.flat().length;
    };
    t.clock.advance(400 * DAY);
    const fast = await use('of-the-fast-clock');
    t.clock.advance(-400 * DAY);
    await t.legate.platform.ledger.resetClock(SYSTEM);
    expect(await use('of-the-fast-clock')).toEqual({ status: 409, id: fast.id });
    await use('of-the-right-clock');
    t.clock.advance(DAY);
    const again = await use('of-the-fast-clock');
    expect(again.status).toBe(201);
    expect(again.id).not.toBe(fast.id);
    t.clock.advance(2 * DAY);
    await deleteExpiredAnswers(t.legate.platform);
    expect(await kept()).toBe(0);
  });

  it('sessions and pauses of the fast clock last as long as others', async () => {
    const t = await createTestService();
    const email = 'ada@example.com';
    const signIn = (password = 'correct horse battery') => t.call('POST', '/sign-in', { body: { email, password } });
    await t.call('POST', '/sign-up', { body: { email, password: 'correct horse battery' } });
    t.clock.advance(400 * DAY);
    const { token } = (await signIn()).body;
    for (let i = 0; i < 10; i++) await signIn('wrong horse battery');
    t.clock.advance(-400 * DAY);
    await t.legate.platform.ledger.resetClock(SYSTEM);
    const paused = await signIn();
    expect([paused.status, paused.body.error.details]).toEqual([429, { retryAfter: 900 }]);
    t.clock.advance(900_000);
    expect((await signIn()).status).toBe(200);
    t.clock.advance(7 * DAY - 900_000);
    const headers = { authorization: `Bearer ${token}` };
    expect((await t.call('GET', '/auth/session', { headers })).status).toBe(401);
  });

  it('an approval of the fast clock lasts as long as others, and its caps do not count', async () => {
    const cap = { resource: 'db:capped', actions: ['read'], constraints: { maxCallsPerHour: 1 } };
    const asking = { resource: 'db:asking', actions: ['read'], constraints: { requireApproval: true } };
    const { t, agent, owner } = await newWorld({ permissions: [cap, asking] });
    const ask = async (resource: string) => (await t.authorize(agent, { action: 'read', resource })).body;
    const { approvalId } = await ask('db:asking');
    t.clock.advance(60_000);
    const before = t.clock.now();
    t.clock.advance(400 * DAY);
    expect((await ask('db:capped')).allowed).toBe(true);
    const late = (await ask('db:asking')).approvalId;
    expect((await t.call('POST', `/approvals/${late}/approve`, { as: owner })).status).toBe(200);
    t.clock.advance(-400 * DAY);
    await t.legate.platform.ledger.resetClock(SYSTEM);
    const { expiresAt } = (await t.call('GET', `/approvals/${late}`, { as: owner })).body;
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(before + 300_000);
    expect(late).not.toBe(approvalId);
    t.clock.advance(300_000);
    expect((await ask('db:asking')).reason).toBe('APPROVAL_REQUIRED');
    // What the fast clock counted does not use up the hours of the present.
    t.clock.advance(3_600_000);
    expect((await ask('db:capped')).allowed).toBe(true);
    expect((await ask('db:capped')).reason).toBe('RATE_LIMITED');
  });
});

if (dialect === 'postgres')
  it('the head row is read with the time of the database server', async () => {
    const t = await createTestService();
    const { database } = t.legate.platform;
    if (database.dialect !== 'postgres') throw new Error('this is a test for PostgreSQL');
    const store = new PostgresBatchStore(database);
    const { time } = await store.begin();
    await store.rollback();
    expect(Math.abs((time ?? 0) - Date.now())).toBeLessThan(60_000);
  });
