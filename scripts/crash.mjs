// npm run test:crash -- --rounds 200: kill -9 under load, the given number of times (20 by default).
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const given = process.argv.slice(2).filter((word) => word !== '--rounds');
const rounds = given[0] ?? '20';
if (given.length > 1 || !/^[1-9][0-9]{0,4}$/.test(rounds)) {
  console.error('usage: npm run test:crash -- --rounds <number>');
  process.exit(2);
}
const built = spawnSync(process.execPath, [resolve(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);
const { status } = spawnSync(
  process.execPath,
  [resolve(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'e2e', 'test/e2e/crash.test.ts'],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, LEGATE_TEST_CRASH_ROUNDS: rounds },
  },
);
process.exit(status ?? 1);
