import { expect, it, vi } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { LedgerFollower, readHead, readPosition, setPosition } from '../../ledger/index.ts';
import { pruneLedger } from '../seal/index.ts';
import { forgetOldEvents } from '../stream/retention.ts';

const listed = async (t: TestService, as: TestUser, query = ''): Promise<Json[]> =>
  (await t.call('GET', `/changes?limit=100${query}`, { as })).body;
const agentsIn = (changes: readonly Json[]): string[] => changes.map(({ agentId }) => agentId);

const rename = (t: TestService, as: TestUser, agent: { id: string }, name: string) =>
  t.call('PATCH', `/agents/${agent.id}`, { as, body: { name } });

const storedUpTo = (t: TestService) => readPosition(t.legate.platform.database.read, 'changes');

/** Copies nothing in the background during the work. Readers catch up. */
async function withoutBackground<T>(work: () => Promise<T>): Promise<T> {
  const runSoon = vi.spyOn(LedgerFollower.prototype, 'runSoon').mockImplementation(() => {});
  try {
    return await work();
  } finally {
    runSoon.mockRestore();
  }
}

it('copies changes by itself', async () => {
  const t = await createTestService();
  await t.agent(await t.user());
  await expect.poll(() => storedUpTo(t)).toBe(await readHead(t.legate.platform.database.read));
});

it('lists what a stopped service left uncopied after the next start', async () => {
  const [next, owner] = await withoutBackground(async () => {
    const t = await createTestService();
    const user = await t.user();
    await rename(t, user, await t.agent(user), 'second');
    await t.legate.close();
    const again = await createTestService({ sameDatabaseAs: t });
    expect(await storedUpTo(again)).toBeLessThan(await readHead(again.legate.platform.database.read));
    return [again, user] as const;
  });
  expect((await listed(next, owner)).map(({ type }) => type)).toEqual(['agent.updated', 'agent.created']);
});

it('decisions alone move the stored position only after many of them', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  await listed(t, owner);
  const before = await storedUpTo(t);
  for (let i = 0; i < 20; i++) await t.authorize(agent, { action: 'read', resource: 'db:x' });
  expect(agentsIn(await listed(t, owner))).toEqual([agent.id]);
  expect(await storedUpTo(t)).toBe(before);
});

it('tolerates copies that instances of an older version stored themselves', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner);
  await listed(t, owner);
  await t.legate.close();
  const next = await createTestService({ sameDatabaseAs: t });
  await next.legate.platform.ledger.maintain((db) => setPosition(db, 'changes', 0));
  await rename(next, owner, agent, 'second');
  expect((await listed(next, owner)).map(({ type }) => type)).toEqual(['agent.updated', 'agent.created']);
  expect(await listed(next, owner, `&subject=${agent.id}`)).toHaveLength(2);
  expect(await storedUpTo(next)).toBe(await readHead(next.legate.platform.database.read));
});

it('lists changes that cannot be copied, because the disk is full for instance, in the same pages', async () => {
  const t = await createTestService();
  const [owner, stranger] = [await t.user(), await t.user()];
  const made = [(await t.agent(owner)).id];
  await listed(t, owner);
  const { ledger } = t.legate.platform;
  const { maintain } = ledger;
  ledger.maintain = () => Promise.reject(new Error('the disk is full'));
  try {
    for (let i = 0; i < 5; i++) made.unshift((await t.agent(owner)).id);
    const other = await t.agent(stranger);
    expect(await storedUpTo(t)).toBeLessThan(await readHead(t.legate.platform.database.read));
    expect(agentsIn(await listed(t, owner))).toEqual(made);
    expect(agentsIn(await listed(t, stranger))).toEqual([other.id]);
    expect(agentsIn(await listed(t, owner, `&subject=${made[1]}&subject=${other.id}`))).toEqual([made[1]]);
    expect(await listed(t, owner, '&type=agent.revoked')).toEqual([]);
    for (const limit of [1, 2, 5, 6]) {
      const paged: string[] = [];
      for (let path: string | undefined = `/changes?limit=${limit}`; path; ) {
        const { body, headers } = await t.call('GET', path, { as: owner });
        paged.push(...agentsIn(body));
        path = /<[^>]*(\/changes[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      }
      expect(paged).toEqual(made);
    }
  } finally {
    ledger.maintain = maintain;
  }
  expect(agentsIn(await listed(t, owner))).toEqual(made);
  expect(await storedUpTo(t)).toBe(await readHead(t.legate.platform.database.read));
});

it('copies changes before their rows are deleted, whether events or the ledger have grown too old', async () => {
  for (const [config, deleteOldRows] of [
    [{ events: { retentionDays: 2 } }, forgetOldEvents],
    [{ audit: { retentionDays: 90 } }, pruneLedger],
  ] as const) {
    const t = await createTestService({ config });
    const owner = await t.user();
    await withoutBackground(async () => {
      const agent = await t.agent(owner);
      await t.legate.close();
      const next = await createTestService({ config, sameDatabaseAs: t });
      next.clock.advance(100 * DAY_MS);
      const younger = await next.agent(owner);
      await deleteOldRows(next.legate.platform);
      const rows = next.legate.platform.database.read.selectFrom('stream_events').select('id');
      expect(await rows.where('agent_id', '=', agent.id).execute()).toEqual([]);
      expect(agentsIn(await listed(next, owner))).toEqual([younger.id, agent.id]);
    });
  }
});

it('an erasure reaches changes that were not copied before it began', async () => {
  const t = await createTestService();
  const [owner, admin, person] = [await t.user(), await t.admin(), await t.admin()];
  const agent = await t.agent(owner);
  await listed(t, owner);
  const reason = 'moves to Rue des Lilas 7';
  await withoutBackground(async () => {
    await t.agent(person);
    await t.call('PATCH', `/agents/${agent.id}`, { as: person, body: { name: 'renamed', reason } });
    expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  });
  expect((await listed(t, owner)).map(({ type }) => type)).toEqual(['agent.updated', 'agent.created']);
  const rows = await t.legate.platform.database.read.selectFrom('changes').selectAll().execute();
  expect(rows.filter(({ user_id }) => user_id === person.id)).toEqual([]);
  expect(JSON.stringify(rows)).not.toContain(reason);
});
