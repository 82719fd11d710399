import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legate, root, scratchFolder, serve } from '../support/cli.ts';
import { hasNginx, makeCertificate, runNginx } from '../support/nginx.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { freePort, type Running } from '../support/process.ts';

const deploy = (path: string): string => join(root, 'deploy', path);
const textOf = (path: string): string => readFileSync(deploy(path), 'utf8');

interface Question {
  readonly path: string;
  readonly token: string;
  readonly body?: object;
}

/** Sends a request over TLS. Returns 0 as the status if the connection failed. */
const send = (url: string, agent: Agent, { path, token, body }: Question): Promise<{ status: number; text: string }> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) };
    const req = request(`${url}${path}`, { agent, method: body ? 'POST' : 'GET', headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
      res.on('error', (error) => resolve({ status: 0, text: error.message }));
    });
    req.on('error', (error) => resolve({ status: 0, text: error.message }));
    req.end(body && JSON.stringify(body));
  });

describe.skipIf(!hasNginx())('two instances in production and nginx with deploy/nginx/legate.conf', () => {
  it('pass legate check --url, and go on answering in a rolling restart', async () => {
    const cwd = scratchFolder();
    const certificate = makeCertificate(cwd);
    const postgres = await startPostgres();
    const [https, http, one, two] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const url = `https://localhost:${https}`;
    const env = {
      NODE_ENV: 'production',
      LEGATE_BASE_URL: url,
      LEGATE_SECRET: '0d'.repeat(32),
      LEGATE_DATABASE_URL: postgres.url,
      LEGATE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
      LEGATE_SHUTDOWN_DRAIN_SECONDS: '1',
      LEGATE_LOG_LEVEL: 'error',
      LEGATE_ADMIN_EMAIL: 'admin@example.com',
      LEGATE_ADMIN_PASSWORD: 'correct horse battery',
    };
    const start = (port: number): Promise<Running> =>
      serve({ cwd, env: { ...env, PORT: String(port), LEGATE_DATA_DIR: join(cwd, String(port)) } });
    const instances = await Promise.all([start(one), start(two)]);
    const nginx = await runNginx(
      cwd,
      deploy('nginx/legate.conf'),
      [
        ['127.0.0.1:3001', `127.0.0.1:${one}`],
        ['127.0.0.1:3002', `127.0.0.1:${two}`],
        ['listen 443 ', `listen 127.0.0.1:${https} `],
        ['listen 80;', `listen 127.0.0.1:${http};`],
        ['legate.example.com', 'localhost'],
        ['/etc/ssl/legate', cwd],
      ],
      https,
    );
    const agent = new Agent({ keepAlive: true, ca: readFileSync(certificate) });
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

      const admin = { LEGATE_DATA_DIR: join(cwd, String(one)) };
      const token = (await legate(['admin', 'token'], { cwd, env: { ...env, ...admin } })).stdout.trim();
      const { user } = JSON.parse((await send(url, agent, { path: '/auth/session', token })).text);
      const permissions = [{ resource: 'db:*', actions: ['read'] }];
      const body = { ownerId: user.id, name: 'a', type: 'service', permissions };
      const reader = JSON.parse((await send(url, agent, { path: '/agents', token, body })).text);

      let isOver = false;
      const answers: { status: number; text: string }[] = [];
      const clients = Array.from({ length: 6 }, async () => {
        while (!isOver)
          answers.push(
            await send(url, agent, {
              path: '/authorize',
              token: reader.token,
              body: { action: 'read', resource: 'db:x' },
            }),
          );
      });
      for (const [i, port] of [one, two].entries()) {
        const before = answers.length;
        await expect.poll(() => answers.length, { timeout: 15_000 }).toBeGreaterThan(before + 50);
        expect(await instances[i]?.stop()).toBe(0);
        instances[i] = await start(port);
        if (i > 0) break;
        // nginx sends requests to an instance again two seconds after a failure.
        const restarted = performance.now();
        await expect.poll(() => performance.now() - restarted, { timeout: 15_000 }).toBeGreaterThan(2500);
      }
      isOver = true;
      await Promise.all(clients);
      const failed = answers.filter(({ status, text }) => status !== 200 || !text.includes('"allowed":true'));
      // nginx does not ask for readiness: a connection that it opens while the port closes is reset, and it rightly does
      // not send a POST again. At most one for each client and restart can be in that state.
      expect(failed.filter(({ status }) => status !== 502)).toEqual([]);
      expect(failed.length).toBeLessThanOrEqual(2 * clients.length);
      expect(answers.length).toBeGreaterThan(100);
    } finally {
      agent.destroy();
      await nginx.stop();
      for (const instance of instances) await instance.stop();
      await postgres.remove();
    }
  });
});

describe('legate check --url', () => {
  it('finds what a proxy breaks', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd, env: { LEGATE_HTTP_TRUSTED_PROXIES: '127.0.0.1' } });
    const { port } = new URL(running.url);
    // Passes X-Forwarded-For of clients on, removes credentials and answers errors and unusual methods itself.
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

      // This command connects from the address that the service trusts as a proxy's.
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

  it('refuses what is not an address, and says why one cannot be reached', async () => {
    expect((await legate(['check', '--url', 'legate.example.com'])).code).toBe(64);
    const away = await legate(['check', '--url', `http://localhost:${await freePort()}`]);
    expect([away.code, away.stdout]).toEqual([1, expect.stringContaining('the connection is refused')]);
  });
});

describe('deploy/', () => {
  it('the image copies what exists and is needed, and its command serves', async () => {
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

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('the systemd unit is valid', () => {
    const unit = deploy('systemd/legate.service');
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    expect((stdout + stderr).split('\n').filter((line) => line.includes('legate.service'))).toEqual([]);
  });

  it('sets only options that exist', () => {
    const known = readFileSync(join(root, 'docs/config.md'), 'utf8');
    for (const file of [
      'compose.yaml',
      'compose.env.example',
      'kubernetes/legate.yaml',
      'systemd/legate.service',
      'Dockerfile',
    ])
      for (const [name] of textOf(file).matchAll(/LEGATE_[A-Z_]+/g))
        expect(known, `${file}: ${name}`).toContain(`\`${name}\``);
  });

  it('mounts and builds from files that exist', () => {
    for (const [, path] of textOf('compose.yaml').matchAll(/- \.\/(\S+?):/g))
      if (path !== 'certificates') expect(existsSync(deploy(path as string)), path).toBe(true);
    expect(textOf('compose.yaml')).toContain('dockerfile: deploy/Dockerfile');
  });
});
