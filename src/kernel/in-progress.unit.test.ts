import { expect, it } from 'vitest';
import { InProgress } from './in-progress.ts';

it('finds work by its number or text, which are different keys, until it is deleted', () => {
  const work = new InProgress<string>();
  work.set(1, 'number');
  work.set('1', 'text');
  work.set('__proto__', 'name of a member');
  expect([work.get(1), work.get('1'), work.get('__proto__'), work.get('constructor')]).toEqual([
    'number',
    'text',
    'name of a member',
    undefined,
  ]);
  expect([work.has(1), work.has(2), work.has('toString')]).toEqual([true, false, false]);
  expect([work.delete(1), work.delete(1), work.delete('valueOf')]).toEqual([true, false, false]);
  expect(work.values()).toEqual(['text', 'name of a member']);
});

it('shows a snapshot, so that work may end while it is visited', () => {
  const work = new InProgress<number>();
  for (let number = 0; number < 100; number++) work.set(number, number);
  const seen: number[] = [];
  for (const number of work.values()) {
    work.delete(number);
    seen.push(number);
  }
  expect(seen).toHaveLength(100);
  expect(work.values()).toEqual([]);
});
