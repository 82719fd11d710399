import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/index.ts';
import { copySources } from '../support/builds.ts';
import { legate, PROGRAM, root, run, scratchFolder, serve } from '../support/cli.ts';

const modeOf = (stats: Stats): string => (stats.mode & 0o777).toString(8);
const json = { 'content-type': 'application/json' };

describe('the first start', () => {
  it('creates the data folder, prints all addresses, and prints a link that creates the administrator', async () => {
    const cwd = scratchFolder();
    const first = await serve({ cwd });
    const data = join(cwd, '.legate');
    expect(modeOf(statSync(data))).toBe('700');
    for (const file of readdirSync(data)) {
      // The service renames the temporary file of the ledger's anchor meanwhile.
      const stats = statSync(join(data, file), { throwIfNoEntry: false });
      if (stats) expect([file, modeOf(stats)]).toEqual([file, '600']);
    }
    expect(readdirSync(data)).toEqual(expect.arrayContaining(['.gitignore', 'legate.db', 'secrets.json']));

    const output = first.output();
    const base = `http://localhost:${new URL(first.url).port}`;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    for (const part of [
      `Legate ${version}`,
      'development',
      process.versions.node,
      'SQLite',
      join(data, 'legate.db'),
      `${base}/docs`,
      `${base}/openapi.json`,
      `${base}/health/ready`,
      `${base}/metrics`,
    ])
      expect(output).toContain(part);
    expect(output).not.toContain('\u001b');
    const secrets = JSON.parse(readFileSync(join(data, 'secrets.json'), 'utf8')) as Record<string, [{ key: string }]>;
    for (const [{ key }] of Object.values(secrets)) expect(output).not.toContain(key);
    expect(output).toContain('Ledger key');

    const link = output.match(/\S+\/setup\?token=\S+/)?.[0] ?? '';
    const token = new URL(link).searchParams.get('token');
    expect((await fetch(link)).status).toBe(200);
    const body = JSON.stringify({ token, email: 'admin@example.com', password: 'correct horse battery' });
    const made = (await (await fetch(`${first.url}/setup`, { method: 'POST', headers: json, body })).json()) as {
      token: string;
      user: { role: string };
    };
    expect(made.user.role).toBe('admin');
    expect((await fetch(`${first.url}/setup`, { method: 'POST', headers: json, body })).status).toBe(410);
    expect((await fetch(`${first.url}/users`, { headers: { authorization: `Bearer ${made.token}` } })).status).toBe(
      200,
    );
    expect(await first.stop()).toBe(0);

    const second = await serve({ cwd });
    expect(second.output()).not.toContain('/setup');
    console.log(
      `first start ready after ${Math.round(first.readyAfterMs)} ms, second after ${Math.round(second.readyAfterMs)} ` +
        `ms`,
    );
    expect((await fetch(`${second.url}/users`, { headers: { authorization: `Bearer ${made.token}` } })).status).toBe(
      200,
    );
    expect(await second.stop()).toBe(0);
  });

  it('creates the administrator from the environment, once', async () => {
    const cwd = scratchFolder();
    const password = 'correct horse battery';
    writeFileSync(join(cwd, 'password'), `${password}\n`);
    const env = { LEGATE_ADMIN_EMAIL: 'admin@example.com', LEGATE_ADMIN_PASSWORD_FILE: join(cwd, 'password') };
    const first = await serve({ cwd, env });
    expect(first.output()).toContain('admin@example.com');
    expect(first.output()).not.toContain('/setup?token');
    expect(first.output()).not.toContain(password);
    const body = JSON.stringify({ email: 'admin@example.com', password });
    const signIn = await fetch(`${first.url}/sign-in`, { method: 'POST', headers: json, body });
    const { user, token } = (await signIn.json()) as { user: { role: string }; token: string };
    expect(user.role).toBe('admin');
    const system = await fetch(`${first.url}/system`, { headers: { authorization: `Bearer ${token}` } });
    const { settings } = (await system.json()) as { settings: { option: string }[] };
    const of = (option: string): unknown => settings.find((setting) => setting.option === option);
    expect(of('http.port')).toMatchObject({ source: 'environment', value: Number(new URL(first.url).port) });
    expect([of('admin.email'), of('service.name')]).toMatchObject([{ source: 'environment' }, { source: 'default' }]);
    expect(await first.stop()).toBe(0);
    const second = await serve({ cwd, env });
    expect(second.output()).not.toContain('was made');
    expect(await second.stop()).toBe(0);
  });

  it('two concurrent starts: one serves, the other exits with 78, and there is one set of secrets', async () => {
    const cwd = scratchFolder();
    const both = await Promise.allSettled([serve({ cwd }), serve({ cwd })]);
    const [serving] = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(both.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([
      expect.stringMatching(/ended with 78:\nAnother process serves/),
    ]);
    expect((await fetch(`${serving?.url}/health/ready`)).status).toBe(200);
    expect(readdirSync(join(cwd, '.legate')).filter((file) => file.startsWith('secrets'))).toEqual(['secrets.json']);
    expect(await serving?.stop()).toBe(0);
  });
});

describe('secrets.json', () => {
  it('is the same for eight processes that create it concurrently', async () => {
    const cwd = scratchFolder();
    const [dir, ready, go] = ['data', 'ready', 'go'].map((name) => join(cwd, name)) as [string, string, string];
    mkdirSync(ready);
    const source = `
      import { createHash } from 'node:crypto';
      import { existsSync, writeFileSync } from 'node:fs';
      const { openDataFolder } = await import(${JSON.stringify(join(root, 'dist/kernel/data-folder.js'))});
      writeFileSync(${JSON.stringify(ready)} + '/' + process.pid, '');
      const pause = new Int32Array(new SharedArrayBuffer(4));
      while (!existsSync(${JSON.stringify(go)})) Atomics.wait(pause, 0, 0, 1);
      const opened = JSON.stringify(openDataFolder(${JSON.stringify(dir)}));
      process.stdout.write(createHash('sha256').update(opened).digest('hex'));
    `;
    const running = Array.from({ length: 8 }, () =>
      run([process.execPath, '--input-type=module', '-e', source], { cwd: root }),
    );
    await expect.poll(() => readdirSync(ready).length, { timeout: 60_000 }).toBe(running.length);
    writeFileSync(go, '');
    const outputs = await Promise.all(running);
    expect(outputs.map((o) => [o.code, o.stderr])).toEqual(outputs.map(() => [0, '']));
    expect(new Set(outputs.map((o) => o.stdout)).size).toBe(1);
    expect(outputs[0]?.stdout).toHaveLength(createHash('sha256').digest('hex').length);
  });
});

it('a start that fails after it listens ends the process', async () => {
  const cwd = scratchFolder();
  // This is a folder at the path where the start stores the address of the service.
  mkdirSync(join(cwd, '.legate', 'address'), { recursive: true, mode: 0o700 });
  const { code, stdout, stderr } = await legate(['serve'], { cwd, env: { PORT: '0' } });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('EISDIR');
});

describe('npm start', () => {
  it('builds in a new clone, then serves as in development', async () => {
    const clone = scratchFolder();
    copySources(clone);
    const running = await serve({ cwd: clone, command: ['npm', 'start'] });
    expect(running.output()).toContain('Building ...');
    expect(running.output()).toMatch(/Legate \S+ {2}development/);
    expect(existsSync(join(clone, 'dist/console-assets/manifest.json'))).toBe(true);
    expect(await running.stop()).toBe(0);
  });

  it('serves from the folder in which it is called, without building again', async () => {
    const cwd = scratchFolder();
    const built = statSync(join(root, 'dist/cli.js')).mtimeMs;
    const running = await serve({ cwd, command: [process.execPath, join(root, 'scripts/start.mjs')] });
    expect(running.output()).toContain('Legate');
    expect(statSync(join(root, 'dist/cli.js')).mtimeMs).toBe(built);
    expect(existsSync(join(cwd, '.legate/legate.db'))).toBe(true);
    console.log(`npm start on a new folder ready after ${Math.round(running.readyAfterMs)} ms`);
    expect(await running.stop()).toBe(0);
  });

  it('stops with exit code 0 when npm gets a signal, and leaves nothing running', async () => {
    const running = await serve({
      cwd: root,
      command: ['npm', 'start'],
      env: { LEGATE_DATA_DIR: join(scratchFolder(), 'data') },
    });
    expect(await running.stop()).toBe(0);
    await expect(fetch(`${running.url}/health/live`)).rejects.toThrow();
  });
});

describe('an invalid configuration', () => {
  const wrong: [string, Record<string, string>, string[]][] = [
    ['an unknown name', { LEGATE_X: '1' }, ['LEGATE_X is not a known option']],
    [
      'a misspelt name',
      { LEGATE_ADMIN_EMAILS: 'a@example.com' },
      ['LEGATE_ADMIN_EMAILS', 'did you mean LEGATE_ADMIN_EMAIL?'],
    ],
    [
      'several invalid values together',
      { PORT: 'http', LEGATE_LOG_LEVEL: 'loud', LEGATE_BASE_URL: 'example.com' },
      ['PORT', 'LEGATE_LOG_LEVEL', 'LEGATE_BASE_URL'],
    ],
    [
      'a base URL that cannot be an issuer',
      { LEGATE_BASE_URL: 'https://legate.example.com/?a=b' },
      ['LEGATE_BASE_URL: must not have a query or a fragment'],
    ],
    [
      'a database in memory',
      { LEGATE_DATABASE_URL: 'sqlite::memory:' },
      ['LEGATE_DATABASE_URL: must name a file, because records in memory are not durable'],
    ],
    [
      'a base URL with a password',
      { LEGATE_BASE_URL: 'https://me:secret@legate.example.com' },
      ['LEGATE_BASE_URL: must not have a user name or password'],
    ],
    ['a missing secret file', { LEGATE_METRICS_TOKEN_FILE: '/nowhere/token' }, ['LEGATE_METRICS_TOKEN_FILE']],
  ];
  it.each(wrong)('exits with 78 and names %s', async (_, env, names) => {
    const cwd = scratchFolder();
    const { code, stdout, stderr } = await legate(['serve'], { cwd, env });
    expect([code, stdout]).toEqual([78, '']);
    for (const name of names) expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(existsSync(join(cwd, '.legate'))).toBe(false);
  });

  it.each([
    ['{"http": {"prot": 1}}', 'http.prot'],
    ['{"http": 1}', 'http'],
    ['{', 'not valid JSON'],
  ])('exits with 78 for legate.config.json with %s', async (content, named) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'legate.config.json'), content);
    const { code, stderr } = await legate(['serve'], { cwd });
    expect(code).toBe(78);
    expect(stderr).toContain('legate.config.json');
    expect(stderr).toContain(named);
  });

  it('exits with 1 and a sentence when the port is in use', async () => {
    const server = createServer();
    const port = await new Promise<number>((done) =>
      server.listen(0, '127.0.0.1', () => done((server.address() as { port: number }).port)),
    );
    const { code, stderr } = await legate(['serve'], { env: { PORT: String(port) } });
    server.close();
    expect(code).toBe(1);
    expect(stderr).toBe(`Port ${port} of 127.0.0.1 is in use. Stop the other process, or set PORT to another port.\n`);
  });

  it.each([
    ['203.0.113.7', '0'],
    ['999.1.1.1', '4000'],
    ['999.1.1.1', '0'],
  ])('exits with 1 and a sentence when HOST %s is not an address of the machine, PORT %s', async (host, port) => {
    const { code, stderr } = await legate(['serve'], { env: { HOST: host, PORT: port } });
    expect([code, stderr]).toEqual([1, `HOST is ${host}, which is not an address of this machine.\n`]);
  });

  it('refuses a database of a newer version, and names the solution', async () => {
    const cwd = scratchFolder();
    await (await serve({ cwd })).stop();
    const database = await openDatabase(`sqlite:${join(cwd, '.legate/legate.db')}`, { serviceName: 'legate' });
    await sql`insert into legate_migrations (name, timestamp)
      values ('9999-later', '2030-01-01T00:00:00.000Z')`.execute(database.write);
    await database.close();
    for (const command of [['serve'], ['migrate'], ['migrate', '--dry-run']]) {
      const { code, stderr } = await legate(command, { cwd });
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toMatch(/migrated by a newer version of Legate \(9999-later\)\. Start that version, or restore/);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });

  it('refuses a database from before the first release, and names the solution', async () => {
    const cwd = scratchFolder();
    const database = await openDatabase(`sqlite:${join(cwd, '.legate/legate.db')}`, { serviceName: 'legate' });
    await sql`create table legate_migrations (name text primary key, timestamp text)`.execute(database.write);
    await sql`insert into legate_migrations values ('0001-foundation', '2026-01-01')`.execute(database.write);
    await database.close();
    for (const command of [['serve'], ['migrate'], ['migrate', '--dry-run']]) {
      const { code, stderr } = await legate(command, { cwd });
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toMatch(/created by a version of Legate before 0\.1\.0.*Export the audit log with that version/);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });

  it('makes the database file accessible to its own user only, even in an existing folder', async () => {
    const cwd = scratchFolder();
    mkdirSync(join(cwd, 'data'), { mode: 0o755 });
    await (await serve({ cwd, env: { LEGATE_DATA_DIR: join(cwd, 'data') } })).stop();
    expect(statSync(join(cwd, 'data/legate.db')).mode & 0o777).toBe(0o600);
  });

  it('PORT=0 uses a free port and prints it', async () => {
    const cwd = scratchFolder();
    const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
    const child = spawn(process.execPath, [PROGRAM, 'serve'], { cwd, env: { PATH, HOME, PORT: '0' } });
    const output = await new Promise<string>((resolve) => {
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk;
        if (text.includes('/health/live')) resolve(text);
      });
    });
    const live = output.match(/http:\S+\/health\/live/)?.[0] ?? '';
    const { status } = await fetch(live);
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect([status, await exit]).toEqual([200, 0]);
  });
});

describe('NODE_ENV=production', () => {
  const env = {
    NODE_ENV: 'production',
    LEGATE_BASE_URL: 'http://auth.example.com',
    LEGATE_HTTP_TRUSTED_PROXIES: '0.0.0.0/0',
  };

  it('does not start with unsafe settings: exits with 78 and names everything to correct', async () => {
    const cwd = scratchFolder();
    const { code, stderr } = await legate(['serve'], { cwd, env });
    expect(code).toBe(78);
    for (const name of ['LEGATE_BASE_URL', 'LEGATE_HTTP_TRUSTED_PROXIES']) expect(stderr).toContain(name);
    expect(existsSync(join(cwd, '.legate'))).toBe(false);
  });

  it('legate check reports the same without starting, also in development', async () => {
    const { NODE_ENV: _, ...development } = env;
    for (const given of [env, development]) {
      const { code, stdout } = await legate(['check'], { env: given });
      expect(code).toBe(78);
      for (const name of ['LEGATE_BASE_URL', 'LEGATE_HTTP_TRUSTED_PROXIES']) expect(stdout).toContain(name);
    }
    const good = await legate(['check'], {
      env: {
        LEGATE_BASE_URL: 'https://auth.example.com',
        LEGATE_DATA_DIR: '/srv/legate',
        LEGATE_MAIL_URL: 'smtp://mail.example.com',
      },
    });
    expect([good.code, good.stdout]).toEqual([0, 'Production would start with this configuration.\n']);
  });

  it('starts with safe settings, and prints production', async () => {
    const cwd = scratchFolder();
    const env = {
      NODE_ENV: 'production',
      LEGATE_BASE_URL: 'https://auth.example.com',
      LEGATE_SHUTDOWN_DRAIN_SECONDS: '0',
    };
    const running = await serve({ cwd, env });
    expect(running.output()).toContain('production');
    expect(running.output()).not.toContain('Not for production');
    expect(
      (
        await fetch(`${running.url}/sign-up`, {
          method: 'POST',
          headers: json,
          body: '{"email":"a@example.com","password":"long enough"}',
        })
      ).status,
    ).toBe(403);
    expect(await running.stop()).toBe(0);
  });
});
