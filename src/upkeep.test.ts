import { expect, it, onTestFinished, vi } from 'vitest';
import { createTestService, FakeClock, type TestService } from '../test/support/service.ts';
import { DAY_MS } from './kernel/clock.ts';
import { modules } from './modules.ts';

const config = { events: { retentionDays: 1 } };

/** Runs the upkeep of a service or command that keeps events for a day, and closes it. */
async function upkeepFor(t: TestService, serves: boolean, clock: FakeClock = t.clock): Promise<void> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { legate } = await createTestService({ sameDatabaseAs: t, serves, config, clock, databaseClock: t.clock });
  vi.advanceTimersByTime(5000);
  await legate.close();
  vi.useRealTimers();
}

it('a command with a shorter retention than the service deletes no events; an instance with it does', async () => {
  const t = await createTestService();
  const user = await t.user();
  await t.agent(user);
  const kept = async (): Promise<number> =>
    (await t.call('GET', '/events?types=agent.created', { as: user })).body.length;
  t.clock.advance(2 * DAY_MS);
  await upkeepFor(t, false);
  expect(await kept()).toBe(1);
  await upkeepFor(t, true);
  expect(await kept()).toBe(0);
});

it('an error in the upkeep of one module does not keep the later ones from theirs', async () => {
  const t = await createTestService();
  const user = await t.user();
  await t.agent(user);
  t.clock.advance(2 * DAY_MS);
  const first = modules.find(({ upkeep }) => upkeep !== undefined) as unknown as { upkeep: () => Promise<void> };
  const failing = vi.spyOn(first, 'upkeep').mockRejectedValue(new Error('damaged'));
  await upkeepFor(t, true);
  expect(failing).toHaveBeenCalled();
  failing.mockRestore();
  expect((await t.call('GET', '/events?types=agent.created', { as: user })).body).toHaveLength(0);
});

it('an instance whose clock is ahead of the database deletes nothing', async () => {
  const t = await createTestService();
  const user = await t.user();
  await t.agent(user);
  const fast = new FakeClock();
  fast.advance(400 * DAY_MS);
  await upkeepFor(t, true, fast);
  expect((await t.call('GET', '/events?types=agent.created', { as: user })).body).toHaveLength(1);
});
