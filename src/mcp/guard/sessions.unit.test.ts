import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Sessions } from './sessions.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Sessions of one agent, and the events that each receives. */
function opened(...ids: string[]) {
  const sessions = new Sessions();
  const received = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const id of ids) {
    sessions.opened(id, { caller: 'agt_1', urlElicitation: true });
    sessions.get(id)?.streams.add((event) => received.get(id)?.push(event));
  }
  const watch = (id: string, status: () => Promise<string | undefined>): void =>
    sessions.watch(sessions.get(id) as never, 'apr_1', status);
  return { watch, counts: () => [...received.values()].map(({ length }) => length) };
}

it('every session that was sent to an approval is notified once, also one that was sent there later', async () => {
  const { watch, counts } = opened('first', 'second', 'third');
  let status = 'pending';
  watch('first', async () => status);
  await vi.advanceTimersByTimeAsync(14 * 60_000);
  watch('second', async () => status);
  watch('second', async () => status);
  await vi.advanceTimersByTimeAsync(14 * 60_000);
  expect(counts()).toEqual([0, 0, 0]);
  status = 'approved';
  await vi.advanceTimersByTimeAsync(5000);
  expect(counts()).toEqual([1, 1, 0]);
});

it('an approval that cannot be read for a moment is still watched', async () => {
  const { watch, counts } = opened('first');
  const answers = ['pending', undefined, undefined, 'approved'];
  watch('first', async () => answers.shift());
  await vi.advanceTimersByTimeAsync(10_000);
  expect(counts()).toEqual([1]);
});

it('an approval that is not decided is watched for a quarter of an hour', async () => {
  const { watch } = opened('first');
  watch('first', async () => 'pending');
  await vi.advanceTimersByTimeAsync(16 * 60_000);
  expect(vi.getTimerCount()).toBe(0);
});
