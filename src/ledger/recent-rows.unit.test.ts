import { expect, it } from 'vitest';
import { RecentRows } from './recent-rows.ts';

const commit = (firstSeq: number, lastSeq: number) => ({
  firstSeq,
  lastSeq,
  rows: Array.from({ length: lastSeq - firstSeq + 1 }, (_, i) => ({ seq: firstSeq + i })),
});
const filled = (...spans: [number, number][]) => {
  const recent = new RecentRows<{ seq: number }>(100);
  for (const [first, last] of spans) recent.add(commit(first, last));
  return recent;
};
const seqs = (rows: { seq: number }[] | undefined) => rows?.map(({ seq }) => seq);

it('returns the rows of a slice that spans several commits, and keeps later rows', () => {
  const recent = filled([1, 3], [4, 4], [5, 9]);
  expect(seqs(recent.slice(2, 6))).toEqual([2, 3, 4, 5, 6]);
  expect(seqs(recent.slice(7, 9))).toEqual([7, 8, 9]);
});

it('returns nothing for a slice with a gap, and returns the rows after the gap later', () => {
  const recent = filled([1, 3], [6, 8]);
  expect(recent.slice(2, 7)).toBeUndefined();
  expect(seqs(recent.slice(6, 8))).toEqual([6, 7, 8]);
  expect(filled().slice(1, 1)).toBeUndefined();
});

it('stores no further commits once the limit of rows is reached', () => {
  const recent = new RecentRows<{ seq: number }>(3);
  for (const [first, last] of [
    [1, 2],
    [3, 4],
    [5, 6],
  ] as const)
    recent.add(commit(first, last));
  expect(seqs(recent.slice(1, 4))).toEqual([1, 2, 3, 4]);
  expect(recent.slice(5, 6)).toBeUndefined();
});

it('drains commits after a position until the callback refuses one', () => {
  const recent = filled([1, 2], [3, 4], [5, 6], [7, 8]);
  const offered: number[] = [];
  recent.drain(2, ({ firstSeq }) => offered.push(firstSeq) < 2);
  expect(offered).toEqual([3, 5]);
  expect(seqs(recent.slice(5, 8))).toEqual([5, 6, 7, 8]);
  expect(recent.slice(3, 4)).toBeUndefined();
});
