import { expect, it, vi } from 'vitest';
import { BackOff } from './back-off.ts';

it('doubles the pause of a person with each attempt, and counts sessions that fail together once', () => {
  let now = 100_000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const backOff = new BackOff();
  const pauseOf = (key: string): number => {
    const begun = now;
    while (backOff.isPausing(key)) now += 100;
    return now - begun;
  };
  const openedAt = now;
  for (const session of ['a', 'b', 'c', 'd']) backOff.failed(`usr_1 ${session}`, openedAt);
  expect(backOff.isPausing('usr_2 a')).toBe(false);
  expect(pauseOf('usr_1 e')).toBe(500);
  now += 1;
  backOff.failed('usr_1 e', now);
  expect(pauseOf('usr_1 f')).toBe(1000);
  // One that has been stable begins anew, and pauses although it was opened before the last failure.
  now += 120_000;
  backOff.failed('usr_1 a', openedAt);
  expect(pauseOf('usr_1 a')).toBe(500);
  clock.mockRestore();
});
