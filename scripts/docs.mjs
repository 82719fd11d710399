// Writes the docs that are made from the code, or with --check fails when they differ from it.
// The renderers are TypeScript and Node 20 does not run that, so a test of the house is what runs them.
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
    ...(check ? [] : ['-t', 'made from the code']),
  ],
  { cwd: root, stdio: 'inherit' },
);
process.exit(status ?? 1);
