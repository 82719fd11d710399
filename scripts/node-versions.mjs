// Checks that the packed package runs on every Node version that it declares:
// node scripts/node-versions.mjs [20 22 24 26] [--suite]
//
// Installs each Node from npm's `node` package in a scratch folder, starts the service with it, creates an agent,
// requests decisions, reads the audit log, and stops. --suite also runs the unit tests and those on SQLite with each,
// in about five minutes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const suite = process.argv.includes('--suite');
const asked = process.argv.slice(2).filter((arg) => /^\d+$/.test(arg));
const majors = asked.length > 0 ? asked : ['20', '22', '24', '26'];
const scratch = mkdtempSync(join(tmpdir(), 'legate-nodes-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

function run(program, args, cwd) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

function installPackage() {
  run(process.execPath, [join(root, 'scripts/build.mjs')], root);
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', scratch], root));
  const home = join(scratch, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{"name":"home","private":true}');
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', join(scratch, filename)], home);
  return home;
}

function installNode(major) {
  const dir = join(scratch, `node-${major}`);
  mkdirSync(dir);
  // The `node` package downloads the binary for this platform from the registry in its install script.
  writeFileSync(join(dir, 'package.json'), '{"name":"scratch","private":true,"allowScripts":{"node":true}}');
  run('npm', ['install', '--no-audit', '--no-fund', `node@${major}`], dir);
  return join(dir, 'node_modules/node/bin/node');
}

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

async function smoke(node, home, major) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const admin = { email: 'admin@example.com', password: 'correct horse battery staple' };
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PORT: String(port),
    LEGATE_DATA_DIR: join(scratch, `data-${major}`),
    LEGATE_ADMIN_EMAIL: admin.email,
    LEGATE_ADMIN_PASSWORD: admin.password,
  };
  const startedAt = performance.now();
  const child = spawn(node, [join(home, 'node_modules/legate/dist/cli.js'), 'serve'], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const exit = new Promise((done) => child.once('exit', done));
  const guard = setTimeout(() => child.kill('SIGKILL'), 60_000);
  try {
    while (
      !(await fetch(`${url}/health/ready`).then(
        (r) => r.ok,
        () => false,
      ))
    ) {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}`);
      await new Promise((done) => setTimeout(done, 10));
    }
    const readyMs = Math.round(performance.now() - startedAt);
    const call = async (path, token, body) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const response = await fetch(
        url + path,
        body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers },
      );
      if (!response.ok) throw new Error(`${path} answered ${response.status}`);
      return response.json();
    };
    const { token, user } = await call('/sign-in', undefined, admin);
    const permissions = [{ resource: 'mcp:github:*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }];
    const agent = await call('/agents', token, { ownerId: user.id, name: 'smoke', type: 'service', permissions });
    const reasons = [];
    for (const action of ['read', 'write', 'read']) {
      const decision = await call('/authorize', agent.token, { action, resource: 'mcp:github:list_issues' });
      reasons.push(decision.allowed ? 'allowed' : decision.reason);
    }
    const entries = await call(`/audit?agentId=${agent.id}`, token);
    const want = 'allowed,NO_PERMISSION,RATE_LIMITED';
    if (reasons.join() !== want) throw new Error(`decided ${reasons}, expected ${want}`);
    if (entries.length !== 3) throw new Error(`the audit log has ${entries.length} entries, expected 3`);
    child.kill('SIGTERM');
    const code = await exit;
    if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    return { driver: /\((node:sqlite|libsql)\)/.exec(output)?.[1] ?? 'not said', readyMs, result: 'ok' };
  } catch (error) {
    return { driver: '', readyMs: '', result: `FAILED: ${error.message}\n${output}` };
  } finally {
    clearTimeout(guard);
    child.kill('SIGKILL');
  }
}

const home = installPackage();
const rows = [];
for (const major of majors) {
  const node = installNode(major);
  const version = run(node, ['--version'], root).trim();
  const row = { version, ...(await smoke(node, home, major)) };
  if (suite) {
    const { status, stdout } = spawnSync(
      node,
      [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'unit', '--project', 'sqlite'],
      {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1' },
      },
    );
    row.suite =
      status === 0 ? (/Tests\s+(.*passed.*)/.exec(stdout)?.[1] ?? 'passed') : `FAILED\n${stdout.slice(-4000)}`;
  }
  rows.push(row);
}
console.log(
  `\n| Node | SQLite driver | ready after | smoke |${suite ? ' suites on SQLite |' : ''}\n` +
    `|---|---|---|---|${suite ? '---|' : ''}`,
);
for (const row of rows)
  console.log(
    `| ${row.version} | ${row.driver} | ${row.readyMs} ms | ${row.result} |${suite ? ` ${row.suite} |` : ''}`,
  );
process.exit(rows.every((row) => row.result === 'ok' && !row.suite?.startsWith('FAILED')) ? 0 : 1);
