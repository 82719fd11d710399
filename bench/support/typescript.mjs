// The tests' helpers for processes and PostgreSQL, compiled so that every supported Node can run them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const out = join(root, 'node_modules/.cache/legate-bench');

/** Imports `test/<path>.ts`. */
export async function fromTests(path) {
  const options = { noEmit: false, rootDir: join(root, 'test'), outDir: out, types: ['node'], noCheck: true };
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(out, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: options,
      files: [join(root, `test/${path}.ts`)],
      include: [],
    }),
  );
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(out, 'tsconfig.json')],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`test/${path}.ts does not compile:\n${stdout}`);
  return import(pathToFileURL(join(out, `${path}.js`)).href);
}
