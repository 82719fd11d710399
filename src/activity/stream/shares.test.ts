import { afterEach, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { openStream, type Stream } from '../../../test/support/stream.ts';

const opened: Stream[] = [];
afterEach(async () => {
  for (const stream of opened.splice(0)) await stream.close();
});
async function open(t: TestService, as: { token: string }, n = 1): Promise<Stream[]> {
  const streams = await Promise.all(Array.from({ length: n }, () => openStream(t, { as })));
  opened.push(...streams);
  return streams;
}
const withCap = (maxConnections: number): Promise<TestService> =>
  createTestService({ config: { events: { maxConnections } } });
const statuses = (streams: readonly Stream[]): number[] => streams.map((stream) => stream.status);
const live = (streams: readonly Stream[]): number =>
  streams.filter((stream) => stream.status === 200 && !stream.ended).length;

it('lets one agent use all connections until another one needs one', async () => {
  const t = await withCap(24);
  const [owner, stranger] = [await t.user(), await t.user()];
  const agent = await t.agent(owner);
  const all = await open(t, agent, 26);
  expect(live(all)).toBe(24);
  expect(statuses(all).filter((status) => status === 503)).toHaveLength(2);
  const first = await open(t, stranger);
  expect(statuses(first)).toEqual([200]);
  const displaced = all.filter((stream) => stream.status === 200)[23] as Stream;
  await displaced.end();
  expect(displaced.seen).toEqual([
    { event: 'error', id: undefined, data: { code: 'TOO_MANY_CONNECTIONS', message: expect.any(String) } },
  ]);
  expect(t.legate.events.connectionCount()).toBe(24);
  // The agent has reached its own share of 12.
  expect(statuses(await open(t, agent))).toEqual([503]);
  // Concurrent callers of another owner get exactly their share, and the agent keeps its connections.
  const others = await open(t, stranger, 20);
  expect(live([...first, ...others])).toBe(12);
  expect(live(all)).toBe(12);
  expect(t.legate.events.connectionCount()).toBe(24);
  expect(statuses(await open(t, stranger))).toEqual([503]);
});

it('counts all agents of one owner towards the share of the owner', async () => {
  const t = await withCap(24);
  const [owner, stranger] = [await t.user(), await t.user()];
  const [a, b] = [await t.agent(owner), await t.agent(owner)];
  const theirs = [...(await open(t, a, 12)), ...(await open(t, b, 12))];
  expect(live(theirs)).toBe(24);
  const others = await open(t, stranger, 8);
  expect(live(others)).toBe(6);
  expect(live(theirs)).toBe(18);
  // An administrator's streams are never closed for others, and close no stream of a caller within its share.
  expect(statuses(await open(t, await t.admin()))).toEqual([503]);
});

it('gives an administrator the connection of a caller above its share, but never the reverse', async () => {
  const t = await withCap(24);
  const [owner, admin] = [await t.user(), await t.admin()];
  const theirs = await open(t, owner, 24);
  expect(statuses(await open(t, admin, 2))).toEqual([200, 200]);
  expect(live(theirs)).toBe(22);
  const full = await withCap(24);
  expect(live(await open(full, await full.admin(), 24))).toBe(24);
  expect(statuses(await open(full, await full.user()))).toEqual([503]);
});

it('applies no shares to a limit of 10 or less', async () => {
  for (const cap of [2, 10]) {
    const t = await withCap(cap);
    const mine = await open(t, await t.user(), cap);
    expect(live(mine)).toBe(cap);
    expect(statuses(await open(t, await t.user()))).toEqual([503]);
    expect(live(mine)).toBe(cap);
  }
});

it('does not count a connection for a refused credential', async () => {
  const t = await withCap(24);
  const mine = await open(t, await t.user(), 24);
  const [stream] = await open(t, { token: 'nonsense' });
  await stream?.end();
  expect(stream?.seen[0]?.data.code).toBe('UNAUTHORIZED');
  expect(live(mine)).toBe(24);
});

it('a stream that is being opened while the service closes its streams ends too', async () => {
  let entered = (): void => {};
  let proceed = (): void => {};
  const waits = new Promise<void>((resolve) => {
    entered = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const one = await createTestService({
    authenticate: async () => {
      entered();
      await gate;
      return { userId: 'ext|a' };
    },
  });
  const opening = openStream(one);
  await waits;
  one.legate.events.close();
  proceed();
  const stream = await opening;
  await stream.end();
  expect([stream.status, one.legate.events.connectionCount()]).toEqual([200, 0]);
});
