import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { examine } from '../../src/cli/doctor/examine.ts';
import { listen } from '../../src/http/node.ts';
import { freePort } from '../support/process.ts';
import { createTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { WebPerson } from '../support/web-person.ts';

const root = resolve(import.meta.dirname, '../..');
/** Returns the text between the two marks of a name, as a reader would copy it. */
const block = (name: string): string =>
  new RegExp(`<!-- ${name}:begin -->\\s*\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  )?.[1] ?? '';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
/** Starts a program. Returns its output so far. */
function start(program: string, args: readonly string[], env: Record<string, string> = {}): () => string {
  const child = spawn(program, args, { cwd: root, env: { ...process.env, ...env } });
  children.push(child);
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk));
  child.stderr.on('data', (chunk: Buffer) => (printed += chunk));
  return () => printed;
}

it("the README's four requests, by copy and paste: two devices are listed, and one is ended", async () => {
  const devices = block('devices');
  expect(devices.match(/^# \d\./gm)).toHaveLength(4);
  const t = await createTestService();
  const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', devices], {
    env: { ...process.env, BASE: `http://127.0.0.1:${server.port}` },
  });
  await server.stop(1000);
  expect(stderr).toBe('');
  const [signedUp, signedIn, listed, ended] = stdout.trim().split('\n') as [string, string, string, string];
  expect(JSON.parse(signedUp).user.email).toBe('ada@example.com');
  // The clock is stopped, so the order of the two sessions is undefined.
  const byCurrent = (a: { current: boolean }, b: { current: boolean }): number => Number(a.current) - Number(b.current);
  expect(JSON.parse(listed).sessions.sort(byCurrent)).toEqual([
    expect.objectContaining({
      current: false,
      device: { browser: 'Safari', os: 'iOS', type: 'mobile' },
      ipAddress: '127.0.0.1',
    }),
    expect.objectContaining({
      current: true,
      device: { browser: 'Chrome', os: 'macOS', type: 'desktop' },
      ipAddress: '127.0.0.1',
    }),
  ]);
  expect(ended).toBe('204');
  expect((await t.call('GET', '/auth/session', { as: JSON.parse(signedIn).token })).status).toBe(401);
});

it("the README's stream and its webhook: a decision arrives at both, and an unsigned message is refused", async () => {
  const t = await createTestService({ config: { webhooks: { allowPrivateNetworks: true } } });
  // The fake clock is years behind, and a signature with its time would be refused.
  t.clock.set(new Date().toISOString());
  const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  const owner = await t.user();
  const agent = await t.agent(owner);
  const request = block('watch').replace('http://localhost:3000', `http://127.0.0.1:${server.port}`);
  const curl = `npx() { echo "$DEVELOPER_TOKEN"; }\n${request}`;
  // exec replaces Bash with curl, so that the signal reaches curl.
  const watched = start('bash', ['-c', curl.replace('\ncurl ', '\nexec curl ')], { DEVELOPER_TOKEN: owner.token });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const { secret } = (await t.call('POST', '/webhooks', { as: owner, body: { url, types: ['audit'] } })).body;
  const received = start(
    process.execPath,
    ['--input-type=module', '--eval', block('webhook').replace('4000', String(port))],
    { WEBHOOK_SECRET: secret },
  );
  await until(() => watched().includes(': connected'), { timeout: 60_000 });
  const status = (): Promise<number> =>
    fetch(url, { method: 'POST', body: '{}' }).then(
      (r) => r.status,
      () => 0,
    );
  await until(async () => (await status()) === 400, { timeout: 60_000 });
  const { auditId } = (await t.authorize(agent, { action: 'read', resource: 'db:x' })).body;
  await until(
    () => watched().includes(`event: audit\ndata: {"id":"evt_${auditId.slice(4)}"`) && received().includes(auditId),
    { timeout: 60_000 },
  );
  expect(received()).toMatch(/^audit \{/);
  await server.stop(100);
});

/** Runs a program of the README in this process, on a free port. */
async function runBlock(name: string): Promise<string> {
  const port = await freePort();
  const file = join(import.meta.dirname, `readme-${name}-${port}.mjs`);
  writeFileSync(file, block(name).replaceAll('4000', String(port)));
  vi.stubEnv('LEGATE_DATA_DIR', join(tmpdir(), `legate-readme-${port}`));
  try {
    await import(/* @vite-ignore */ file);
  } finally {
    vi.unstubAllEnvs();
    rmSync(file);
  }
  return `http://localhost:${port}`;
}

it.each(['embed', 'embed-express', 'embed-fastify'])(
  "the README's application '%s', by copy and paste: Legate answers at its paths, the application at its own",
  async (name) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const base = await runBlock(name);
    if (name === 'embed') expect(log.mock.calls).toContainEqual(['release bot may read: true']);
    log.mockRestore();
    const status = async (path: string): Promise<number> => (await fetch(base + path, { redirect: 'manual' })).status;
    expect(await (await fetch(base)).text()).toBe('the application itself');
    expect([
      await status('/legate/agents'),
      await status('/api/legate/oauth/authorize'),
      await status('/.well-known/oauth-authorization-server'),
      await status('/mcp'),
      await status('/elsewhere'),
    ]).toEqual([401, 400, 200, 404, 404]);
  },
);

it("the README's guarded server, by copy and paste: from 401 to a call", async () => {
  const base = await runBlock('guard');
  const refused = await fetch(`${base}/mcp`, { method: 'POST' });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining(`resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`),
  ]);
  const person = new WebPerson();
  await person.signUp(base);
  const reports = await examine({
    server: `${base}/mcp`,
    redirectUri: 'http://127.0.0.1:7777/callback',
    login: async (address) => (await person.decide(address)).searchParams,
    say: () => {},
  });
  expect(reports.map(({ step, outcome }) => [step, outcome])).toContainEqual(['call', 'fine']);
  expect(reports.filter(({ outcome }) => outcome !== 'fine')).toEqual([]);
});
