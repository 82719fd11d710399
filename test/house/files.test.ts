import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** A link, or a note to a tool, which have to stay on one line. */
const UNBREAKABLE = /https?:\/\/|biome-ignore/;

it('no comment has a line of more than 120 columns', () => {
  const wide = sources()
    .filter(({ file }) => /\.(ts|tsx|js|mjs|cjs)$/.test(file) && file !== 'src/client/types.ts')
    .flatMap(({ file }) =>
      readFileSync(resolve(root, file), 'utf8')
        .split('\n')
        .map((line, i) => ({ at: `${file}:${i + 1}`, line }))
        .filter(({ line }) => line.length > 120 && /^\s*(\/\/|\/\*\*|\* )/.test(line) && !UNBREAKABLE.test(line)),
    );
  expect(wide.map(({ at }) => at)).toEqual([]);
});

it('each area of src/ describes its purpose in its index.ts, and names its folders', () => {
  const src = resolve(root, 'src');
  const folders = (path: string): string[] =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const missing = folders(src).flatMap((area) => {
    const index = resolve(src, area, 'index.ts');
    if (!existsSync(index)) return [`${area}/index.ts`];
    const header = /\/\*\*[\s\S]*?\*\//.exec(readFileSync(index, 'utf8'))?.[0] ?? '';
    const unnamed = folders(resolve(src, area)).filter((name) => !new RegExp(`\\b${name}\\b`).test(header));
    return header === '' ? [`${area}/index.ts`] : unnamed.map((name) => `${area}/${name}`);
  });
  expect(missing).toEqual([]);
});

it('npm ci has nothing to warn about on this Node', () => {
  const { status, stderr } = spawnSync('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});
