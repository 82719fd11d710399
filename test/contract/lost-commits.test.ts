import { describe, expect, it } from 'vitest';
import { sealer } from '../../src/activity/seal/sealer.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { createTestService, type Json, type TestAgent, type TestService } from '../support/service.ts';
import { openStream } from '../support/stream.ts';
import { untilPasses } from '../support/until.ts';

/**
 * Returns a function that restores the current state of the database, as a restored snapshot or a lagging standby
 * would.
 */
async function snapshot(t: TestService): Promise<() => Promise<void>> {
  const { write } = t.legate.platform.database;
  const contents = new Map<string, Json[]>();
  for (const name of TABLE_NAMES) contents.set(name, await write.selectFrom(name).selectAll().execute());
  return () =>
    write.transaction().execute(async (db) => {
      for (const name of TABLE_NAMES) await db.deleteFrom(name).execute();
      for (const [name, rows] of contents)
        for (const row of rows)
          await db
            .insertInto(name as 'head')
            .values(row)
            .execute();
    });
}

const ask = async (t: TestService, agent: TestAgent, action = 'read', resource = 'db:x') =>
  (await t.authorize(agent, { action, resource })).body.allowed as boolean;

const permissions = (...actions: string[]) => [{ resource: 'db:*', actions }];

const two = async (): Promise<[TestService, TestService]> => {
  const a = await createTestService();
  return [a, await createTestService({ sameDatabaseAs: a })];
};

describe('a database that has lost commits under running instances', () => {
  it('no instance keeps a permission whose grant is lost', async () => {
    const [a, b] = await two();
    const owner = await a.user();
    const agent = await a.agent(owner, { permissions: permissions('read') });
    const restore = await snapshot(a);
    await a.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: permissions('read', 'write') } });
    expect([await ask(a, agent, 'write'), await ask(b, agent, 'write')]).toEqual([true, true]);
    await restore();
    expect([await ask(a, agent, 'write'), await ask(b, agent, 'write')]).toEqual([false, false]);
    expect([await ask(a, agent), await ask(b, agent)]).toEqual([true, true]);
  });

  it('a revocation after the loss takes effect on every instance, even when as many changes were lost', async () => {
    const [a, b] = await two();
    const owner = await a.user();
    const agent = await a.agent(owner, { permissions: permissions('read') });
    const restore = await snapshot(a);
    await a.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: permissions('read', 'write') } });
    expect([await ask(a, agent), await ask(b, agent)]).toEqual([true, true]);
    await restore();
    expect((await b.call('DELETE', `/agents/${agent.id}`, { as: owner })).status).toBeLessThan(300);
    expect((await a.authorize(agent, { action: 'read', resource: 'db:x' })).status).toBe(401);
  });

  it('caps, budgets and statistics continue from the state of the database', async () => {
    const a = await createTestService();
    const [owner, admin] = [await a.user(), await a.admin()];
    const agent = await a.agent(owner, {
      permissions: [{ resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 20 } }],
    });
    const budgeted = await a.agent(owner, { permissions: permissions('read') });
    for (let i = 0; i < 5; i++) expect(await ask(a, agent)).toBe(true);
    const restore = await snapshot(a);
    for (let i = 0; i < 10; i++) expect(await ask(a, agent)).toBe(true);
    const stats = async (): Promise<Json> => (await a.call('GET', '/dashboard/stats', { as: admin })).body;
    await stats();
    await restore();
    const b = await createTestService({ sameDatabaseAs: a });
    const budget = { agentId: budgeted.id, metric: 'calls', limit: 3, window: 'day', onExceed: 'deny' };
    expect((await b.call('POST', '/budgets', { as: owner, body: budget })).status).toBe(201);
    const answers: boolean[] = [];
    for (let i = 0; i < 20; i++) answers.push(await ask(a, agent));
    expect(answers.filter(Boolean).length).toBe(15);
    const withBudget: boolean[] = [];
    for (let i = 0; i < 5; i++) withBudget.push(await ask(a, budgeted));
    expect(withBudget).toEqual([true, true, true, false, false]);
    await a.legate.platform.ledger.history.read();
    const decisions = await a.legate.platform.database.read
      .selectFrom('stream_events')
      .select('id')
      .where('type', '=', 'audit')
      .execute();
    expect(await stats()).toEqual((await b.call('GET', '/dashboard/stats', { as: admin })).body);
    expect(decisions.length).toBe(30);
  });

  it('an open stream ends with REPLAY_GAP, although the ledger has grown beyond its position', async () => {
    const a = await createTestService();
    // This instance has read none of the rows that will be lost.
    const b = await createTestService({ sameDatabaseAs: a, withoutIntervals: true });
    const agent = await a.agent(await a.user(), { permissions: permissions('read') });
    await ask(a, agent);
    const restore = await snapshot(a);
    const stream = await openStream(a, { as: agent });
    for (let i = 0; i < 5; i++) await ask(a, agent);
    await stream.events(5);
    await restore();
    for (let i = 0; i < 10; i++) await ask(b, agent);
    await a.legate.platform.ledger.history.read();
    await stream.until(() => stream.ended);
    expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'REPLAY_GAP' } });
    expect(a.legate.platform.ledger.history.losses).toBe(1);
    expect(b.legate.platform.ledger.history.losses).toBe(0);
    // A resumed stream shows all current events.
    const resumed = await openStream(a, { as: agent, query: { lastEventId: stream.seen.at(-2)?.id as string } });
    await resumed.until(() => resumed.seen.filter((e) => e.event === 'audit').length >= 11);
    await resumed.close();
  });

  it('an erasure after the loss also reaches the index', async () => {
    const a = await createTestService();
    const [owner, admin] = [await a.user(), await a.admin()];
    const agent = await a.agent(owner, { permissions: permissions('read') });
    const ip = '198.51.100.77';
    const decide = async (): Promise<string> =>
      (await a.call('POST', '/authorize', { as: agent, body: { action: 'read', resource: 'db:x' }, ip })).body.auditId;
    const erase = async (id: string): Promise<void> => {
      const { status } = await a.call('POST', '/audit/erasures', { as: admin, body: { auditIds: [id] } });
      expect(status).toBe(200);
    };
    const found = async () => (await a.call('GET', `/audit?ip=${ip}`, { as: admin })).body.map(({ id }: Json) => id);
    const [first, second] = [await decide(), await decide()];
    const restore = await snapshot(a);
    for (let i = 0; i < 10; i++) await decide();
    await erase(await decide());
    await restore();
    await a.legate.platform.ledger.history.read();
    expect(await found()).toEqual([second, first]);
    await erase(first);
    expect(await found()).toEqual([second]);
  });

  it('commits of other instances do not count as lost', async () => {
    const [a, b] = await two();
    const owner = await a.user();
    const agent = await a.agent(owner, { permissions: permissions('read') });
    for (let i = 0; i < 5; i++) {
      await ask(i % 2 ? a : b, agent);
      await a.call('PATCH', `/agents/${agent.id}`, {
        as: owner,
        body: { name: `n${i}`, permissions: permissions(`a${i}`) },
      });
      for (const t of [a, b]) await t.legate.platform.ledger.history.read();
    }
    expect([a, b].map((t) => t.legate.platform.ledger.history.losses)).toEqual([0, 0]);
  });

  it.each([
    ['is shorter than a signed checkpoint', 1, false],
    ['has grown beyond a signed checkpoint', 20, false],
    ['is shorter than the tree in the memory of an instance', 1, true],
    ['has grown beyond the tree in the memory of an instance', 20, true],
  ])('no instance signs another tree over a ledger that %s', async (_, rows, hasTree) => {
    const options = { config: { ledger: { seal: 'on' } }, withoutIntervals: true } as const;
    const a = await createTestService(options);
    const b = await createTestService({ ...options, sameDatabaseAs: a });
    const agent = await a.agent(await a.user(), { permissions: permissions('read') });
    await ask(a, agent);
    const restore = await snapshot(a);
    for (let i = 0; i < 5; i++) await ask(a, agent);
    await a.legate.platform.stateOf(sealer).signNow();
    const signed = (await b.call('GET', '/ledger/checkpoint')).text;
    if (hasTree) await b.legate.platform.stateOf(sealer).signNow();
    await restore();
    for (let i = 0; i < rows; i++) await ask(b, agent);
    for (const t of [b, a]) {
      await t.legate.platform.ledger.history.read();
      await untilPasses(async () => {
        await t.legate.platform.stateOf(sealer).signNow();
        expect(String((await t.legate.ledger.status()).halted)).toContain(`ree of ${signed.split('\n')[1]} rows`);
      });
    }
    const log = await a.legate.platform.database.read.selectFrom('seal').selectAll().executeTakeFirst();
    expect(log).toMatchObject({ halted: expect.stringContaining('npx legate ledger recover') });
    expect(log?.checkpoint).not.toBe(signed);
    expect(Number(log?.checkpoint?.split('\n')[1] ?? 0)).toBeLessThan(Number(signed.split('\n')[1]));
    expect(await ask(a, agent)).toBe(true);
    // A restart does not resume the sealing.
    const c = await createTestService({ ...options, sameDatabaseAs: b }).catch((error: Error) => error.message);
    if (typeof c === 'string') expect(c).toContain('npx legate ledger recover');
    else expect((await c.legate.ledger.status()).halted).toContain('npx legate ledger recover');
  });
});
