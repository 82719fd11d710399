// npm run test:faults -- --minutes 60: random clients on three instances while faults happen at random, for so long (2
// minutes unless given). --seed repeats a run. Writes the result to docs/faults.md.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { renderFaults } from './docs/faults.mjs';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const { minutes = '2', seed = String(Math.floor(Math.random() * 2 ** 31)) } = values;
if (!/^[1-9][0-9]{0,3}$/.test(minutes) || !/^[0-9]{1,10}$/.test(seed)) {
  console.error('usage: npm run test:faults -- [--minutes <number>] [--seed <number>]');
  process.exit(64);
}
const built = spawnSync(process.execPath, [resolve(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);

const scratch = mkdtempSync(join(tmpdir(), 'legate-faults-'));
const report = join(scratch, 'report.json');
console.log(`seed ${seed}, ${minutes} minutes`);
const { status } = spawnSync(
  process.execPath,
  [resolve(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'e2e', 'test/e2e/instances-faults.test.ts'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      LEGATE_TEST_FAULTS_MINUTES: minutes,
      LEGATE_TEST_SEED: seed,
      LEGATE_TEST_FAULTS_REPORT: report,
    },
  },
);
try {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  writeFileSync(join(root, 'docs/faults.md'), renderFaults(result, new Date(), availableParallelism()));
  console.log('wrote docs/faults.md');
} catch (error) {
  console.error(`docs/faults.md is unchanged: ${error.message}`);
}
rmSync(scratch, { recursive: true, force: true });
process.exit(status ?? 1);
