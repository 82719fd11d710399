import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const LONGEST = 400;

/** Pages of a table, which are read by looking up a row. */
const TABLES: readonly string[] = [
  // Made by `npm run docs`.
  'src/client/types.ts',
  // Every sentence of the console, once in each language.
  'console/src/texts/de.ts',
  'console/src/texts/en.ts',
  'src/pages/texts/de.ts',
  'src/pages/texts/en.ts',
  // A sample of each body and query, and who may call each endpoint.
  'test/http/hostile.cases.ts',
  'test/http/matrix.cases.ts',
];

/** The source files that are in git or about to be, with their lengths. */
function sources(): { file: string; lines: number }[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((file) => /\.(ts|tsx|js|mjs|cjs|css|html)$/.test(file) && existsSync(resolve(root, file)))
    .map((file) => ({ file, lines: readFileSync(resolve(root, file), 'utf8').split('\n').length - 1 }));
}

it('no file of source or tests is longer than 400 lines, except pages of a table', () => {
  const files = sources();
  expect(files.length).toBeGreaterThan(800);
  const long = files.filter(({ file, lines }) => lines > LONGEST && !TABLES.includes(file));
  expect(long.map(({ file, lines }) => `${file}: ${lines}`)).toEqual([]);
  expect(TABLES.filter((table) => !files.some(({ file }) => file === table))).toEqual([]);
});
