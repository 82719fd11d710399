import { expect, it } from 'vitest';
import { contentCodingFor } from './assets.ts';

it.each([
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip;q=1.0', 'gzip'],
  ['br ; q=0.000, gzip; Q=0', undefined],
  ['identity', undefined],
  [null, undefined],
])('a file for Accept-Encoding: %s has the coding %s', (accepted, coding) => {
  expect(contentCodingFor(accepted)).toBe(coding);
});
