import { expect, it } from 'vitest';
import { createTestService } from '../../test/support/service.ts';
import { inParts, lastWithin, SLICE_BYTES } from './row-bytes.ts';

const LARGE = 60_000;
/** Larger than a whole slice. */
const HUGE = SLICE_BYTES + 1;
const t = await createTestService({ lasting: true });
const { database } = t.legate.platform;
const FIRST = 1_000_001;
/** Every fifth row is large, and one is huge. */
const sizes = Array.from({ length: 100 }, (_, i) => (i === 52 ? HUGE : i % 5 === 4 ? LARGE : 10));
await database.write
  .insertInto('stream_events')
  .values(
    sizes.map((size, i) => ({
      seq: FIRST + i,
      id: `evt_${i}`,
      type: 'agent.created',
      timestamp: 1,
      data: i % 2 === 0 ? 'x'.repeat(size) : null,
      parameters: i % 2 === 0 ? null : 'x'.repeat(size),
    })),
  )
  .execute();
const last = FIRST + sizes.length - 1;
const all = sizes.map((_, i) => FIRST + i);
const bytesFrom = (from: number, to: number): number =>
  sizes.slice(from - FIRST, to - FIRST + 1).reduce((sum, size) => sum + size, 0);

it.each(['asc', 'desc'])(
  'parts of a range are within the limit, including the rows between, which are read too: %s',
  async (order) => {
    const small = all.filter((_, i) => i % 5 !== 4);
    const seqs = order === 'asc' ? small : small.toReversed();
    const parts = await inParts(database, seqs, { first: FIRST, last });
    expect(parts.flat()).toEqual(seqs);
    expect(parts.length).toBeLessThan(15);
    for (const part of parts.filter(({ length }) => length > 1)) {
      const [from, to] = [Math.min(...part), Math.max(...part)];
      expect(bytesFrom(from, to)).toBeLessThanOrEqual(SLICE_BYTES);
    }
    expect(parts).toContainEqual([FIRST + 52]);
  },
);

it('finds the last row within a limit, or the first row if it exceeds the limit', async () => {
  for (const [from, limit] of [
    [FIRST, SLICE_BYTES],
    [FIRST + 50, SLICE_BYTES],
    [FIRST + 52, SLICE_BYTES],
    [FIRST + 4, 1],
    [FIRST, 100],
  ] as const) {
    const upto = await lastWithin(database, from, last, limit);
    if (upto > from) expect(bytesFrom(from, upto)).toBeLessThanOrEqual(limit);
    expect(bytesFrom(from, upto + 1)).toBeGreaterThan(limit);
  }
  expect(await lastWithin(database, FIRST, FIRST + 3, 40)).toBe(FIRST + 3);
  expect(await lastWithin(database, last + 1, last + 9)).toBe(last + 9);
});
