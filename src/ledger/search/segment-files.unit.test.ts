import { expect, it } from 'vitest';
import { decodeTimes } from './segment-files.ts';

it('times that are cut off are read as equal to the last one', () => {
  const segment = { first: 1, size: 4, firstTime: 0, lastTime: 0 };
  expect([...decodeTimes(Uint8Array.of(5, 1, 0x82), segment)]).toEqual([5, 6, 8, 8]);
});
