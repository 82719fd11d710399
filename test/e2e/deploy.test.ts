import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { Agent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasCaddy, runCaddy } from '../support/caddy.ts';
import { legate, root, scratchFolder, serve } from '../support/cli.ts';
import { hasNginx, makeCertificate } from '../support/nginx.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { freePort } from '../support/process.ts';
import {
  type Answer,
  agentBehind,
  askSteadily,
  keepAlive,
  nginxBefore,
  type Pair,
  ProxiedStream,
  productionPair,
  send,
  signInSteadily,
} from '../support/proxied.ts';

const deploy = (path: string): string => join(root, 'deploy', path);
const textOf = (path: string): string => readFileSync(deploy(path), 'utf8');

const MCP_SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
});
`;

/** Returns the environment with an MCP server behind the gateway. */
function withMcpServer(cwd: string): Record<string, string> {
  const path = join(cwd, 'server.cjs');
  writeFileSync(path, MCP_SERVER);
  return { LEGATE_GATEWAY_SERVERS: JSON.stringify({ notes: { command: process.execPath, args: [path] } }) };
}

/** Clients of 2025-11-25 at the gateway, each with a session and a credential of its own. */
async function mcpClients(url: string, agent: Agent, cwd: string, pair: Pair) {
  const path = '/gateway/notes/mcp';
  const ask = (token: string, session: string | undefined, method: string, params = {}): Promise<Answer> =>
    send(url, agent, {
      path,
      token,
      body: { jsonrpc: '2.0', id: 1, method, params },
      headers: { accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) },
    });
  const initialize = async (token: string): Promise<string> => {
    const opened = await ask(token, undefined, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    expect(opened.status).toBe(200);
    return opened.headers?.['mcp-session-id'] as string;
  };
  const { ownerId, ownerToken } = await agentBehind(url, agent, cwd, pair);
  const permissions = [{ resource: 'mcp:notes:*', actions: ['execute'] }];
  const clients: { token: string; session: string }[] = [];
  for (let i = 0; i < 12; i++) {
    const body = { ownerId, name: `client ${i}`, type: 'service', permissions };
    const { token } = JSON.parse((await send(url, agent, { path: '/agents', token: ownerToken, body })).text);
    clients.push({ token, session: await initialize(token) });
  }
  return {
    /** Sends a request of each session. Returns the statuses. */
    list: () =>
      Promise.all(clients.map(async ({ token, session }) => (await ask(token, session, 'tools/list')).status)),
    initializeAgain: async (i: number): Promise<void> => {
      const client = clients[i] as (typeof clients)[number];
      client.session = await initialize(client.token);
    },
    withoutCredential: async () => (await send(url, agent, { path, body: {} })).status,
  };
}

/** Every request of an MCP session reaches its instance, and clients initialize again only after that has restarted. */
async function expectSessionsStay(url: string, agent: Agent, cwd: string, pair: Pair): Promise<void> {
  const { list, initializeAgain, withoutCredential } = await mcpClients(url, agent, cwd, pair);
  const all = Array.from({ length: 12 }, () => 200);
  for (let i = 0; i < 5; i++) expect(await list()).toEqual(all);
  expect(await withoutCredential()).toBe(401);
  await pair.restart(0);
  const restarted = performance.now();
  await expect.poll(() => performance.now() - restarted).toBeGreaterThan(2500);
  const after = await list();
  // Both instances had sessions.
  expect(new Set(after)).toEqual(new Set([200, 404]));
  for (const [i, status] of after.entries()) if (status === 404) await initializeAgain(i);
  expect(await list()).toEqual(all);
}

describe.skipIf(!hasNginx())('two instances in production and nginx with deploy/nginx/legate.conf', () => {
  it('pass legate check --url, and lose no decision, sign-in or event in a rolling restart', async () => {
    const cwd = scratchFolder();
    const certificate = makeCertificate(cwd);
    const postgres = await startPostgres();
    const https = await freePort();
    const url = `https://localhost:${https}`;
    const pair = await productionPair(cwd, { url, databaseUrl: postgres.url, drainSeconds: 1 });
    await pair.start();
    const nginx = await nginxBefore(pair, cwd, https);
    const agent = keepAlive(certificate);
    let stream: ProxiedStream | undefined;
    try {
      const checked = await legate(['check', '--url', url], { cwd, env: { NODE_EXTRA_CA_CERTS: certificate } });
      expect([checked.code, checked.stderr]).toEqual([0, '']);
      expect(checked.stdout).not.toMatch(/^(warning|problem)/m);
      expect(checked.stdout).toMatch(/^ok +TLS +TLSv1\.3; /m);
      const untrusted = await legate(['check', '--url', url], { cwd });
      expect([untrusted.code, untrusted.stdout]).toEqual([
        1,
        expect.stringContaining('the certificate is self-signed'),
      ]);

      const reader = await agentBehind(url, agent, cwd, pair);
      stream = new ProxiedStream(url, agent, '/api/legate/events/stream', reader.ownerToken);
      await expect.poll(() => stream?.connections).toBe(1);
      const clients = askSteadily(url, agent, reader.token, 6);
      const people = signInSteadily(url, agent, pair);
      for (const i of [0, 1] as const) {
        const before = clients.answers.length;
        await expect.poll(() => clients.answers.length).toBeGreaterThan(before + 50);
        expect(await pair.restart(i)).toBe(0);
        if (i > 0) break;
        // After a failure, nginx sends no requests to an instance for two seconds.
        const restarted = performance.now();
        await expect.poll(() => performance.now() - restarted).toBeGreaterThan(2500);
      }
      expect(await clients.stop()).toEqual([]);
      expect(await people.stop()).toEqual([]);
      expect([clients.answers.length > 100, people.answers.length > 2]).toEqual([true, true]);

      const decided = clients.answers.map(({ text }) => JSON.parse(text).auditId as string);
      const events = (): { id: string; event: string | undefined }[] => stream?.seen ?? [];
      const shown = () => events().flatMap(({ id, event }) => (event === 'audit' ? id.replace('evt_', 'aud_') : []));
      await expect.poll(() => shown().length).toBeGreaterThanOrEqual(decided.length);
      expect(stream.failed).toEqual([]);
      expect(shown().sort()).toEqual([...decided].sort());
      expect(stream.connections).toBeGreaterThan(1);
    } finally {
      stream?.stop();
      agent.destroy();
      await nginx.stop();
      await pair.stop();
      await postgres.remove();
    }
  });

  it('every request of an MCP session reaches the instance of the session', async () => {
    const cwd = scratchFolder();
    const certificate = makeCertificate(cwd);
    const postgres = await startPostgres();
    const https = await freePort();
    const url = `https://localhost:${https}`;
    const pair = await productionPair(cwd, {
      url,
      databaseUrl: postgres.url,
      drainSeconds: 1,
      env: withMcpServer(cwd),
    });
    await pair.start();
    const nginx = await nginxBefore(pair, cwd, https);
    const agent = keepAlive(certificate);
    try {
      await expectSessionsStay(url, agent, cwd, pair);
    } finally {
      agent.destroy();
      await nginx.stop();
      await pair.stop();
      await postgres.remove();
    }
  });
});

describe.skipIf(!hasCaddy())('two instances in production and Caddy with deploy/caddy/Caddyfile', () => {
  it('lose no request in a rolling restart, because Caddy checks readiness, and keep MCP sessions', async () => {
    const cwd = scratchFolder();
    const postgres = await startPostgres();
    const port = await freePort();
    const url = `https://localhost:${port}`;
    // Longer than two of the intervals at which Caddy checks.
    const pair = await productionPair(cwd, {
      url,
      databaseUrl: postgres.url,
      drainSeconds: 3,
      env: withMcpServer(cwd),
    });
    await pair.start();
    const text = textOf('caddy/Caddyfile')
      .replace(/^legate\.example\.com /m, `localhost:${port} `)
      .replaceAll('127.0.0.1:3001 127.0.0.1:3002', pair.ports.map((each) => `127.0.0.1:${each}`).join(' '));
    expect(text).toContain(`127.0.0.1:${pair.ports[0]} 127.0.0.1:${pair.ports[1]} {`);
    const caddy = await runCaddy(cwd, text, port);
    const agent = keepAlive(caddy.certificate);
    try {
      const checked = await legate(['check', '--url', url], { cwd, env: { NODE_EXTRA_CA_CERTS: caddy.certificate } });
      expect([checked.code, checked.stdout]).toEqual([0, expect.not.stringMatching(/^problem/m)]);
      const reader = await agentBehind(url, agent, cwd, pair);
      const clients = askSteadily(url, agent, reader.token, 6);
      for (const i of [0, 1] as const) {
        const before = clients.answers.length;
        await expect.poll(() => clients.answers.length).toBeGreaterThan(before + 50);
        expect(await pair.restart(i)).toBe(0);
        // Caddy checks every second whether an instance is ready again.
        const restarted = performance.now();
        await expect.poll(() => performance.now() - restarted).toBeGreaterThan(2500);
      }
      expect(await clients.stop()).toEqual([]);
      expect(clients.answers.length).toBeGreaterThan(100);
      await expectSessionsStay(url, agent, cwd, pair);
    } finally {
      agent.destroy();
      await caddy.stop();
      await pair.stop();
      await postgres.remove();
    }
  });
});

describe('legate check --url', () => {
  it('finds problems that a proxy causes', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd, env: { LEGATE_HTTP_TRUSTED_PROXIES: '127.0.0.1' } });
    const { port } = new URL(running.url);
    // A proxy that forwards X-Forwarded-For of clients, removes credentials, and answers errors and unusual methods
    // itself.
    const proxy = createServer((req, res) => {
      const { authorization: _, ...headers } = req.headers;
      const forwarded = { port, host: '127.0.0.1', path: req.url, method: req.method, headers };
      if (req.method === 'DELETE') return void res.writeHead(405).end();
      const onwards = httpRequest(forwarded, (answer) => {
        const { 'set-cookie': __, 'content-security-policy': ___, ...kept } = answer.headers;
        if (answer.statusCode === 404) return void res.writeHead(404, { 'content-type': 'text/html' }).end('lost');
        res.writeHead(answer.statusCode ?? 500, { ...kept, server: 'proxy/1.2.3' });
        answer.pipe(res);
      });
      req.pipe(onwards);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://localhost:${(proxy.address() as AddressInfo).port}`;
      const { code, stdout, stderr } = await legate(['check', '--url', url], { cwd });
      expect(code).toBe(1);
      expect(stderr).toContain('problems');
      for (const problem of [
        'set LEGATE_BASE_URL to the public address',
        'removes security headers',
        'removes Set-Cookie',
        'Error answers are replaced',
        'removes Authorization',
        'DELETE is answered by the proxy',
        'Clients can choose their address',
      ])
        expect(stdout).toMatch(new RegExp(`^problem .*${problem}`, 'm'));
      expect(stdout).toMatch(/^warning .*names the version of the server: proxy\/1\.2\.3/m);

      // This command connects from the address that the service trusts as a proxy.
      const direct = await legate(['check', '--url', running.url.replace('127.0.0.1', 'localhost')], { cwd });
      expect([direct.code, direct.stdout.match(/^problem.*/gm)]).toEqual([
        1,
        [expect.stringContaining('Clients can choose their address')],
      ]);
    } finally {
      proxy.close();
      await running.stop();
    }
  });

  it('refuses an invalid address, and reports why an address cannot be reached', async () => {
    expect((await legate(['check', '--url', 'legate.example.com'])).code).toBe(64);
    const away = await legate(['check', '--url', `http://localhost:${await freePort()}`]);
    expect([away.code, away.stdout]).toEqual([1, expect.stringContaining('the connection is refused')]);
  });
});

describe('deploy/', () => {
  it('the image copies everything that is needed, and only files that exist, and its command serves', async () => {
    const dockerfile = textOf('Dockerfile');
    const copied = [...dockerfile.matchAll(/^COPY --from=build \/src\/(\S+) \S+$/gm)].map((m) => m[1] as string);
    expect(copied).toEqual(['package.json', 'node_modules', 'dist']);
    const cwd = scratchFolder();
    for (const path of copied)
      if (path === 'node_modules') symlinkSync(join(root, path), join(cwd, path));
      else cpSync(join(root, path), join(cwd, path), { recursive: true });
    const settings =
      /^ENV (.*)$/m
        .exec(dockerfile)?.[1]
        ?.split(' ')
        .map((pair) => pair.split('=')) ?? [];
    const { PORT: _, ...env } = Object.fromEntries(settings);
    expect(env).toEqual({ NODE_ENV: 'production', HOST: '0.0.0.0', LEGATE_DATA_DIR: '/data/legate' });
    const command = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '[]');
    const running = await serve({
      cwd,
      command,
      env: { ...env, LEGATE_DATA_DIR: join(cwd, 'data'), LEGATE_BASE_URL: 'https://legate.example.com' },
    });
    const health = JSON.parse(/^HEALTHCHECK .* CMD (.*)$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
    const probe = (port: string) =>
      spawnSync(health[0] ?? '', health.slice(1), { env: { ...process.env, PORT: port } });
    expect(probe(new URL(running.url).port).status).toBe(0);
    await running.stop();
    expect(probe(new URL(running.url).port).status).toBe(1);
  });

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('the systemd units are valid', () => {
    const units = readdirSync(deploy('systemd')).map((name) => deploy(`systemd/${name}`));
    expect(units).toHaveLength(3);
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
    expect((stdout + stderr).split('\n').filter((line) => /legate\S*\.(service|timer)/.test(line))).toEqual([]);
  });

  it('the daily backup creates its own folder', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    await running.stop();
    const line = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(textOf('systemd/legate-backup.service'))?.[1] ?? '';
    const command = line
      .replaceAll('$$', '$')
      .replaceAll('%%', '%')
      .replace('/opt/legate/node_modules/legate/dist/cli.js', join(root, 'dist/cli.js'))
      .replace('/var/lib/legate-backups', join(cwd, 'backups'));
    // StateDirectory creates the folder in this way.
    mkdirSync(join(cwd, 'backups'));
    const env = { ...process.env, LEGATE_DATA_DIR: join(cwd, '.legate') };
    const { status, stderr } = spawnSync('/bin/sh', ['-c', command], { cwd, env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('rror')]);
    const [folder = ''] = readdirSync(join(cwd, 'backups'));
    expect(folder).toMatch(/^\d{4}-\d\d-\d\dT\d{6}$/);
    expect(existsSync(join(cwd, 'backups', folder, 'manifest.json'))).toBe(true);
  });

  it('sets only options that exist', () => {
    const known = readFileSync(join(root, 'docs/config.md'), 'utf8');
    for (const file of [
      'compose.yaml',
      'compose.env.example',
      'kubernetes/legate.yaml',
      'systemd/legate.service',
      'systemd/legate-backup.service',
      'Dockerfile',
    ])
      for (const [name] of textOf(file).matchAll(/LEGATE_[A-Z_]+/g))
        expect(known, `${file}: ${name}`).toContain(`\`${name}\``);
  });

  it('git and images leave out the secrets that an operator adds', () => {
    for (const file of ['.gitignore', '.dockerignore']) {
      const patterns = readFileSync(join(root, file), 'utf8').split('\n');
      expect(patterns, file).toEqual(expect.arrayContaining(['**/*.env', 'deploy/certificates']));
    }
  });

  it('mounts and builds from files that exist', () => {
    for (const [, path] of textOf('compose.yaml').matchAll(/- \.\/(\S+?):/g))
      if (path !== 'certificates') expect(existsSync(deploy(path as string)), path).toBe(true);
    expect(textOf('compose.yaml')).toContain('dockerfile: deploy/Dockerfile');
  });
});
