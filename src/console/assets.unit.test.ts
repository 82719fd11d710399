import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { assetResponse } from './assets.ts';

vi.mock('../kernel/built-assets.ts', () => ({
  findBuiltAssets: () => ({
    manifest: { 'main.ts': { file: 'assets/main.js', isEntry: true } },
    files: new Map([
      ['main.js.gz', gzipSync('export {};')],
      ['main.js.br', brotliCompressSync('export {};')],
      ['icon.svg.gz', gzipSync('<svg/>')],
    ]),
  }),
}));

it.each([
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip;q=1.0', 'gzip'],
  ['br ; q=0.000, gzip; Q=0', null],
  ['identity', null],
  [null, null],
])('a file for Accept-Encoding: %s has the encoding %s', async (accepted, encoding) => {
  const answer = await assetResponse('main.js', accepted);
  expect([answer?.status, answer?.headers.get('content-encoding')]).toEqual([200, encoding]);
  if (encoding === null) expect(await answer?.text()).toBe('export {};');
});
