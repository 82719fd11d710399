import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint, parseKey, policyOfKeys } from '../../src/verify/index.ts';
import { legate, scratchFolder, serve, servedFolder } from '../support/cli.ts';
import type { Json } from '../support/service.ts';

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('legate', () => {
  it('lists its commands', async () => {
    const { code, stdout } = await legate([]);
    expect(code).toBe(0);
    for (const name of [
      'serve',
      'migrate',
      'check',
      'config',
      'openapi',
      'tour',
      'doctor',
      'test',
      'admin create',
      'admin token',
    ])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it.each([
    [['nonsense']],
    [['admin', 'nonsense']],
    [['serve', '--prot', '1']],
    [['admin', 'create', 'a@example.com']],
    [['admin', 'create', '--password', 'x']],
  ])('refuses %j with exit code 64', async (args) => {
    const { code, stdout, stderr } = await legate(args);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toContain('legate');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('refuses a wrong command line of verify with exit code 2, because 1 means refuted', async () => {
    const { code, stdout, stderr } = await legate(['verify', '--kye', 'x']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('npx legate verify');
  });

  it('suggests a command for a mistyped one, and completions of an incomplete one', async () => {
    expect((await legate(['migrat'])).stderr).toContain('Did you mean migrate?');
    const half = await legate(['admin']);
    expect(half.code).toBe(64);
    expect(half.stderr).toContain('npx legate admin needs a subcommand');
    expect(half.stderr).toMatch(/^ {2}admin create /m);
  });

  it('names in its help the variables that a start needs', async () => {
    const { stdout } = await legate(['serve', '--help']);
    for (const name of ['PORT', 'HOST', 'LEGATE_BASE_URL', 'LEGATE_DATA_DIR']) expect(stdout).toContain(name);
  });

  it('--version and --help', async () => {
    expect((await legate(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await legate(['admin', 'create', '--help'])).stdout).toContain('--password-file <path>');
  });
});

describe('commands that read, in a folder without data', () => {
  it.each([[['developer-token']], [['admin', 'token']], [['keys', 'list']], [['keys', 'rotate']]])(
    '%j names the place where it looked, and creates nothing',
    async (args) => {
      const cwd = scratchFolder();
      const { code, stdout, stderr } = await legate(args, { cwd });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(join(cwd, '.legate/legate.db'));
      expect(readdirSync(cwd)).toEqual([]);
    },
  );
});

describe('legate keys', () => {
  it.each(['list', 'rotate'])('%s names a secrets.json that is missing or damaged', async (command) => {
    const cwd = scratchFolder();
    await legate(['migrate'], { cwd });
    const { code, stderr } = await legate(['keys', command], { cwd });
    const missing = 'secrets.json does not exist. The service creates it when it starts for the first time.\n';
    expect([code, stderr]).toEqual([1, `.legate/${missing}`]);
    writeFileSync(join(cwd, '.legate/secrets.json'), '{}');
    const damaged = await legate(['keys', command], { cwd });
    expect([damaged.code, damaged.stderr]).toEqual([
      1,
      expect.stringMatching(/^\.legate\/secrets\.json is not valid.*\n$/),
    ]);
  });

  it('rotate adds keys: earlier sessions and encrypted secrets still work after the restart', async () => {
    const cwd = scratchFolder();
    let running = await serve({ cwd });
    const token = (await legate(['developer-token'], { cwd })).stdout.trim();
    const post = (path: string, body: object) =>
      fetch(`${running.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const webhook = await (await post('/webhooks', { url: 'https://example.com/hook' })).json();
    await running.stop();

    const before = JSON.parse((await legate(['keys', 'list', '--json'], { cwd })).stdout);
    expect(before).toHaveLength(4);
    const rotated = await legate(['keys', 'rotate'], { cwd });
    expect([rotated.code, rotated.stderr]).toEqual([0, '']);
    const after = JSON.parse((await legate(['keys', 'list', '--json'], { cwd })).stdout);
    // The key of the sealed ledger does not change, because auditors know it.
    expect(after).toHaveLength(7);
    for (const key of before)
      expect(after).toContainEqual({ ...key, use: key.kind === 'ledger' ? 'current' : 'earlier' });
    const secrets = readFileSync(join(cwd, '.legate/secrets.json'), 'utf8');
    for (const { key } of Object.values<{ key: string }[]>(JSON.parse(secrets)).flat())
      expect(rotated.stdout).not.toContain(key);
    expect(statSync(join(cwd, '.legate/secrets.json')).mode & 0o777).toBe(0o600);

    running = await serve({ cwd });
    // The webhook's secret was encrypted with the earlier key: a test message can be signed only if it can still be
    // decrypted.
    expect((await post(`/webhooks/${webhook.id}/test`, {})).status).toBeLessThan(500);
    expect((await legate(['keys', 'rotate', 'nonsense'], { cwd })).code).toBe(64);
  });

  it('rotates the key of the sealed ledger in two steps', async () => {
    const cwd = await servedFolder();
    const rotate = (...more: string[]) => legate(['ledger', 'rotate-key', ...more], { cwd });
    expect((await rotate('--finish')).stderr).toMatch(/No rotation has begun/);
    let running = await serve({ cwd });
    const [added = ''] = (await rotate()).stdout.split('\n');
    expect(added).toMatch(/^[^+]+\+[0-9a-f]{8}\+\S{44}$/);
    // The service still signs with the earlier key only, and so do commands.
    expect((await rotate('--finish')).stderr).toMatch(/Restart every instance first/);
    await running.stop();
    running = await serve({ cwd });
    const newest = async () => (await fetch(`${running.url}/ledger/checkpoint`)).text();
    await expect.poll(async () => (await newest()).match(/^— /gm)?.length, { timeout: 60_000 }).toBe(2);
    expect((await rotate('--finish')).stdout).toMatch(/^\S+ is retired\n/);
    expect((await legate(['ledger', 'keys'], { cwd })).stdout).toBe(`${added}\n`);
    expect((await legate(['ledger', 'check'], { cwd })).stdout).toMatch(/^\d+ rows are as they were sealed\n$/);
    await running.stop();
    running = await serve({ cwd });
    expect(openCheckpoint(await newest(), policyOfKeys([parseKey(added)])).size).toBeGreaterThan(0);
  });

  it('does not end the sealed log under a running service', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const refused = await legate(['ledger', 'recover'], { cwd });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toMatch(/^Another process serves .*legate\.db\. Stop it first/);
    expect((await fetch(`${running.url}/ledger/checkpoint`)).status).toBe(200);
    await running.stop();
    expect((await legate(['ledger', 'recover'], { cwd })).stdout).toMatch(
      /has ended; the next start begins another\n$/,
    );
  });

  it('rotates only one kind', async () => {
    const cwd = await servedFolder();
    expect((await legate(['keys', 'rotate', 'signing'], { cwd })).stdout).toMatch(/^signing: new key \S+\n/);
    const kinds = JSON.parse((await legate(['keys', 'list', '--json'], { cwd })).stdout).map((k: Json) => k.kind);
    expect(kinds).toEqual(['signing', 'signing', 'cookie', 'pepper', 'ledger']);
  });
});

describe('legate admin create, legate admin token', () => {
  it('work while a service runs on the same SQLite file', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const none = await legate(['admin', 'token'], { cwd });
    expect([none.code, none.stdout]).toEqual([1, '']);
    expect(none.stderr).toContain('no administrator yet');

    const created = await legate(['admin', 'create', '--email', 'first@example.com'], {
      cwd,
      input: 'correct horse battery\n',
    });
    expect([created.code, created.stderr]).toEqual([0, '']);
    writeFileSync(join(cwd, 'password'), 'another long password\n');
    expect(
      (
        await legate(
          [
            'admin',
            'create',
            '--email',
            'second@example.com',
            '--name',
            'Second',
            '--password-file',
            join(cwd, 'password'),
          ],
          { cwd },
        )
      ).code,
    ).toBe(0);
    for (const [email, password] of [
      ['first@example.com', 'correct horse battery'],
      ['second@example.com', 'another long password'],
    ]) {
      const response = await fetch(`${running.url}/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password }),
      });
      expect(response.status).toBe(200);
    }

    for (const [args, email] of [
      [[], 'first@example.com'],
      [['--user', 'second@example.com', '--name', 'deploy'], 'second@example.com'],
    ] as const) {
      const { code, stdout, stderr } = await legate(['admin', 'token', ...args], { cwd });
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^lgk_\S+\n$/);
      const me = (await (await fetch(`${running.url}/auth/session`, as(stdout.trim()))).json()) as { user: unknown };
      expect(me.user).toMatchObject({ email, role: 'admin' });
    }
    expect(await running.stop()).toBe(0);
  });

  it.each([
    ['no address', [], 'long enough it is', 64, '--email'],
    ['a text that is not an address', ['--email', 'nobody'], 'long enough it is', 1, 'email'],
    ['a password that is too short', ['--email', 'a@example.com'], 'short', 1, 'password'],
    ['no password', ['--email', 'a@example.com'], '', 1, 'password'],
    [
      'a password file that does not exist',
      ['--email', 'a@example.com', '--password-file', '/nowhere'],
      '',
      1,
      '/nowhere',
    ],
  ])('refuse %s', async (_, args, input, code, named) => {
    const result = await legate(['admin', 'create', ...args], { input });
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toContain(named);
    if (input !== '') expect(result.stderr).not.toContain(input);
  });

  it('refuse an address in use, and a token for a user who is not an administrator', async () => {
    const cwd = scratchFolder();
    const create = () => legate(['admin', 'create', '--email', 'a@example.com'], { cwd, input: 'long enough it is' });
    expect((await create()).code).toBe(0);
    const again = await create();
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toContain('EMAIL_IN_USE');
    const other = await legate(['admin', 'token', '--user', 'b@example.com'], { cwd });
    expect([other.code, other.stdout, other.stderr]).toEqual([
      1,
      '',
      'No administrator has the address b@example.com.\n',
    ]);
  });
});

describe('legate developer-token', () => {
  it('prints a token without administrator rights, stores it (0600) and prints it again', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const first = await legate(['developer-token'], { cwd });
    expect((await legate(['developer-token'], { cwd })).stdout).toBe(first.stdout);
    expect(statSync(join(cwd, '.legate/developer-token')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(cwd, '.legate/developer-token'), 'utf8')).toBe(first.stdout.trim());
    expect((await fetch(`${running.url}/agents`, as(first.stdout.trim()))).status).toBe(200);
    expect((await fetch(`${running.url}/users`, as(first.stdout.trim()))).status).toBe(403);
    expect(await running.stop()).toBe(0);
    expect((await serve({ cwd })).output()).toContain('/setup?token');
  });

  it('replaces a stored token that the service does not know', async () => {
    const cwd = await servedFolder();
    const first = await legate(['developer-token'], { cwd });
    writeFileSync(join(cwd, '.legate/developer-token'), `${first.stdout.trim()}x`);
    const second = await legate(['developer-token'], { cwd });
    expect(second.stdout).toMatch(/^lgk_/);
    expect(second.stdout).not.toBe(first.stdout);
  });

  it('is refused in production', async () => {
    const { code, stdout } = await legate(['developer-token'], { env: { NODE_ENV: 'production' } });
    expect([code, stdout]).toEqual([1, '']);
  });
});

describe('legate config', () => {
  it('shows every value with its source, and no secret', async () => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'legate.config.json'), '{"http":{"bodyLimit":4096},"admin":{"password":"from the file"}}');
    const env = {
      LEGATE_METRICS_TOKEN: 'a very secret token',
      LEGATE_DATABASE_URL: 'postgres://legate:pa55word@db/legate',
      HOST: '::1',
    };
    const { code, stdout } = await legate(['config'], { cwd, env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^http\.bodyLimit +4096 +file$/m);
    expect(stdout).toMatch(/^http\.host +::1 +HOST$/m);
    expect(stdout).toMatch(/^http\.port +3000 +default$/m);
    expect(stdout).toMatch(/^metrics\.token +\*{8} +LEGATE_METRICS_TOKEN$/m);
    expect(stdout).not.toMatch(/a very secret token|pa55word|from the file/);
    // All lines of a list have the same width.
    expect(stdout.split('\n').filter((line) => line.length > 130)).toEqual([]);
    const { stdout: asJson } = await legate(['config', '--json'], { cwd, env });
    expect(asJson).not.toMatch(/a very secret token|pa55word|from the file/);
    expect(JSON.parse(asJson)).toContainEqual({
      option: 'http.bodyLimit',
      environment: 'LEGATE_HTTP_BODY_LIMIT',
      value: 4096,
      source: 'file',
    });
  });
});

describe('legate migrate', () => {
  it('lists pending migrations, applies them, and then has nothing to do', async () => {
    const cwd = scratchFolder();
    const dry = await legate(['migrate', '--dry-run'], { cwd });
    expect(dry.stdout).toContain(`${join(cwd, '.legate/legate.db')} does not exist. It would be created`);
    expect(readdirSync(cwd)).toEqual([]);
    const done = await legate(['migrate'], { cwd });
    expect(done.stdout).toMatch(/applying 0097-baseline/);
    const again = await legate(['migrate'], { cwd });
    expect(again.stdout).not.toMatch(/appl/);
    expect(again.stdout).toMatch(/schema (\d+) of \1\n/);
  });
});

describe('legate openapi', () => {
  it('prints the same document as the service', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const served = await (await fetch(`${running.url}/openapi.json`)).json();
    expect(JSON.parse((await legate(['openapi'], { cwd })).stdout)).toEqual(served);
    expect(await running.stop()).toBe(0);
  });
});
