// Writes the generated docs, or with --check fails when they differ from the code.
//
// The renderers are TypeScript, which Node 20 does not run, so a test of test/house runs them.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const check = process.argv.includes('--check');
const { status } = spawnSync(
  process.execPath,
  [
    resolve(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project',
    'house',
    'test/house/docs.test.ts',
    '--update',
    check ? 'none' : 'all',
    ...(check ? [] : ['-t', 'generated docs']),
  ],
  { cwd: root, stdio: 'inherit' },
);
process.exit(status ?? 1);
