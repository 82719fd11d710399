import { expect, it } from 'vitest';
import { MicroBatcher } from './micro-batcher.ts';

it('does together what comes in one turn, and what waits while a group is at work', async () => {
  const sizes: number[] = [];
  const groups = new MicroBatcher<number, number>(4, async (items) => {
    sizes.push(items.length);
    await new Promise((resolve) => setImmediate(resolve));
    return items.map((n) => n * 2);
  });
  const first = [1, 2, 3].map((n) => groups.add(n));
  await first[0];
  expect(await Promise.all(first)).toEqual([2, 4, 6]);
  expect(await Promise.all(Array.from({ length: 10 }, (_, n) => groups.add(n)))).toEqual(
    Array.from({ length: 10 }, (_, n) => n * 2),
  );
  expect(sizes).toEqual([3, 4, 4, 2]);
});

it('gives an error to the one it is for, what is thrown to the whole group, and goes on', async () => {
  const groups = new MicroBatcher<number, number>(10, async (items) => {
    if (items.includes(0)) throw new Error('all');
    return items.map((n) => (n < 0 ? new Error('one') : n));
  });
  const settled = async (items: number[]) =>
    (await Promise.allSettled(items.map((n) => groups.add(n)))).map((r) =>
      r.status === 'fulfilled' ? r.value : (r.reason as Error).message,
    );
  expect(await settled([1, -1, 2])).toEqual([1, 'one', 2]);
  expect(await settled([1, 0])).toEqual(['all', 'all']);
  expect(await settled([3])).toEqual([3]);
});
