import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sha1 } from '../../../../test/support/range-server.ts';
import { createBreachCheck } from '../../../index.ts';
import { searchFile } from './search-file.ts';

const dir = mkdtempSync(join(tmpdir(), 'legate-breach-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let files = 0;
function write(content: string): string {
  const path = join(dir, `${++files}.txt`);
  writeFileSync(path, content);
  return path;
}
const lines = (n: number): string[] =>
  Array.from({ length: n }, (_, i) => `${sha1(`password ${i}`)}:${i * 7919 + 1}`).sort();

describe('searchFile', () => {
  it.each([
    ['with \\n', (all: string[]) => `${all.join('\n')}\n`],
    ['with \\r\\n', (all: string[]) => `${all.join('\r\n')}\r\n`],
    ['without a line end after the last line', (all: string[]) => all.join('\n')],
    ['with empty lines at the end', (all: string[]) => `${all.join('\n')}\n\n\n`],
    ['in lower case', (all: string[]) => all.join('\n').toLowerCase()],
  ])('finds every line of a file %s, and no other text', async (_, join_) => {
    for (const n of [1, 2, 3, 200]) {
      const path = write(join_(lines(n)));
      for (let i = 0; i < n; i++) expect(await searchFile(path, sha1(`password ${i}`))).toBe(i * 7919 + 1);
      for (const absent of ['0'.repeat(40), 'F'.repeat(40), ...[1, 2, 3].map((i) => sha1(`absent ${i}`))])
        expect(await searchFile(path, absent)).toBe(0);
    }
  });

  it('finds nothing in an empty file', async () => {
    expect(await searchFile(write(''), sha1('x'))).toBe(0);
  });
});

describe('createBreachCheck with a file', () => {
  it('sends no request', async () => {
    const breach = createBreachCheck({
      offlineFile: write(lines(50).join('\n')),
      fetch: () => expect.unreachable('asked a service'),
    });
    expect(await breach.check('password 3')).toEqual({ breached: true, count: 3 * 7919 + 1 });
    expect(await breach.check('another')).toEqual({ breached: false, count: 0 });
    await expect(breach.enforce('password 3')).rejects.toMatchObject({ code: 'PASSWORD_BREACHED' });
  });

  it.each([
    ['does not exist', () => join(dir, 'absent')],
    ['is a folder', () => dir],
    ['has other lines', () => write('a,b\n'.repeat(100))],
    ['has one long line without an end', () => write('A'.repeat(10_000))],
  ])('a file that %s counts as unreachable', async (_, path) => {
    const reasons: string[] = [];
    const offlineFile = path();
    expect(
      await createBreachCheck({ offlineFile, onUnavailable: (reason) => void reasons.push(reason) }).check(
        'password 3',
      ),
    ).toEqual({ breached: false, count: 0 });
    expect(reasons).toHaveLength(1);
    await expect(createBreachCheck({ offlineFile, failClosed: true }).enforce('password 3')).rejects.toMatchObject({
      code: 'PASSWORD_CHECK_UNAVAILABLE',
    });
  });

  it('notices a replaced file', async () => {
    const path = write(lines(3).join('\n'));
    const breach = createBreachCheck({ offlineFile: path });
    expect(await breach.check('new one')).toEqual({ breached: false, count: 0 });
    writeFileSync(path, [...lines(3), `${sha1('new one')}:5`].sort().join('\n'));
    expect(await breach.check('new one')).toEqual({ breached: true, count: 5 });
  });
});
