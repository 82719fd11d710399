import { describe, expect, it } from 'vitest';
import { openRangeServer, type RangeServer } from '../../../test/support/range-server.ts';
import {
  createTestService,
  newTestDatabase,
  type TestOptions,
  type TestService,
} from '../../../test/support/service.ts';
import { createLegate, LegateError } from '../../index.ts';
import { ensureFirstAdmin } from '../users/index.ts';

const BREACHED = 'password of a breach';
const GOOD = 'nobody ever used this one';

async function serve(
  breach: NonNullable<NonNullable<TestOptions['config']>['breach']>,
  options: TestOptions = {},
): Promise<{ t: TestService; server: RangeServer }> {
  const server = await openRangeServer({ [BREACHED]: 42, 'ﬁnancial password': 0, 'financial password': 9 });
  return {
    server,
    t: await createTestService({ ...options, config: { breach: { enabled: true, baseUrl: server.url, ...breach } } }),
  };
}
let people = 0;
const signUp = (t: TestService, password: string) =>
  t.call('POST', '/sign-up', { body: { email: `p${++people}@example.com`, password } });
const accounts = async (t: TestService) =>
  (await t.legate.platform.database.read.selectFrom('users').select('id').execute()).length;

describe('breach.enabled', () => {
  it('422 PASSWORD_BREACHED at sign-up, at set-up and from legate.users.create; no account is created', async () => {
    const { t } = await serve({});
    const r = await signUp(t, BREACHED);
    expect([r.status, r.body.error.code, r.body.error.details]).toEqual([422, 'PASSWORD_BREACHED', { count: 42 }]);
    await expect(t.legate.users.create({ email: 'a@example.com', password: BREACHED })).rejects.toMatchObject({
      code: 'PASSWORD_BREACHED',
    });
    const first = await ensureFirstAdmin(t.legate.platform);
    const token = new URL(first.kind === 'setupLink' ? first.url : '').searchParams.get('token') ?? '';
    const setup = { token, email: 'root@example.com', password: BREACHED };
    expect((await t.call('POST', '/setup', { body: setup })).body.error.code).toBe('PASSWORD_BREACHED');
    const page = await t.call('POST', '/setup', {
      raw: new URLSearchParams(setup).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([page.status, page.text]).toEqual([422, expect.stringContaining('appeared in a data breach')]);
    expect(await accounts(t)).toBe(0);
    expect((await signUp(t, GOOD)).status).toBe(200);
    expect((await t.call('POST', '/setup', { body: { ...setup, password: GOOD } })).status).toBe(200);
  });

  it('looks up a password in the form in which it is hashed', async () => {
    const { t } = await serve({});
    expect((await signUp(t, 'ﬁnancial password')).body.error.code).toBe('PASSWORD_BREACHED');
  });

  it('sends no request if the check is off, which is the default', async () => {
    const { t, server } = await serve({ enabled: false });
    expect((await signUp(t, BREACHED)).status).toBe(200);
    expect(server.asked).toEqual([]);
    expect(await t.legate.breach.check(BREACHED)).toEqual({ breached: true, count: 42 });
    await expect(t.legate.breach.enforce(BREACHED)).rejects.toBeInstanceOf(LegateError);
  });

  it('decides about common passwords before the built-in list', async () => {
    const common = 'password123';
    const server = await openRangeServer({ [common]: 5 });
    const codeFor = async (breach: object) => {
      const config = { breach: { enabled: true, baseUrl: server.url, ...breach } };
      const r = await signUp(await createTestService({ config }), common);
      return [r.status, r.body.error.code];
    };
    expect(await codeFor({})).toEqual([422, 'PASSWORD_BREACHED']);
    expect(await codeFor({ minBreachCount: 6 })).toEqual([422, 'PASSWORD_TOO_COMMON']);
    expect(await codeFor({ mode: 'warn' })).toEqual([422, 'PASSWORD_TOO_COMMON']);
    server.answer = (res) => void res.destroy();
    expect(await codeFor({})).toEqual([422, 'PASSWORD_TOO_COMMON']);
    expect(await codeFor({ failClosed: true })).toEqual([503, 'PASSWORD_CHECK_UNAVAILABLE']);
  });

  it('sends no request for an invalid request body', async () => {
    const { t, server } = await serve({});
    expect((await signUp(t, 'short')).status).toBe(400);
    expect(server.asked).toEqual([]);
  });
});

describe('breach.mode warn', () => {
  it('200 with a warning header, and a line in the log', async () => {
    const lines: [object, string][] = [];
    const log = {
      debug: () => {},
      info: () => {},
      error: () => {},
      warn: (fields: object, message: string) => void lines.push([fields, message]),
    };
    const { t } = await serve({ mode: 'warn' }, { log });
    const r = await signUp(t, BREACHED);
    expect([r.status, r.headers.get('legate-warning')]).toEqual([200, 'PASSWORD_BREACHED;count=42']);
    expect(lines).toEqual([[{ action: 'sign-up', userId: null }, expect.stringContaining('data breaches')]]);
    expect((await signUp(t, GOOD)).headers.get('legate-warning')).toBeNull();
  });

  it('does not warn below breach.minBreachCount', async () => {
    const { t } = await serve({ mode: 'warn', minBreachCount: 43 });
    expect((await signUp(t, BREACHED)).headers.get('legate-warning')).toBeNull();
  });
});

describe('while the look-up fails', () => {
  it('accepts a password, or answers 503 PASSWORD_CHECK_UNAVAILABLE with breach.failClosed', async () => {
    const open = await serve({});
    open.server.answer = (res) => void res.destroy();
    expect((await signUp(open.t, BREACHED)).status).toBe(200);
    const closed = await serve({ failClosed: true });
    closed.server.answer = (res) => void res.destroy();
    const r = await signUp(closed.t, GOOD);
    expect([r.status, r.body.error.code]).toEqual([503, 'PASSWORD_CHECK_UNAVAILABLE']);
    expect(await accounts(closed.t)).toBe(0);
  });
});

describe('users.validatePassword', () => {
  it('is called with the password and its user', async () => {
    const asked: unknown[] = [];
    const t = await createTestService({ validatePassword: (...args) => void asked.push(args) });
    expect((await t.call('POST', '/sign-up', { body: { email: 'Ada@example.com', password: GOOD } })).status).toBe(200);
    expect(asked).toEqual([[GOOD, { action: 'sign-up', userId: null, email: 'Ada@example.com' }]]);
  });

  it.each([
    [
      'a text',
      () => 'Not the name of the company, please.',
      422,
      'PASSWORD_REJECTED',
      'Not the name of the company, please.',
    ],
    ['false', async () => false, 422, 'PASSWORD_REJECTED', 'This password is not accepted. Choose another one.'],
    [
      'an error',
      () => {
        throw new TypeError('select * from secrets');
      },
      422,
      'PASSWORD_REJECTED',
      'This password is not accepted. Choose another one.',
    ],
  ])('%s refuses', async (_, validatePassword, status, code, message) => {
    const t = await createTestService({ validatePassword });
    const r = await signUp(t, GOOD);
    expect([r.status, r.body]).toEqual([status, { error: { code, message } }]);
    expect(await accounts(t)).toBe(0);
  });

  it('can be part of the configuration, and can call the breach check', async () => {
    const server = await openRangeServer({ [BREACHED]: 42 });
    let enforce: (password: string) => Promise<void>;
    const place = await newTestDatabase();
    const legate = await createLegate({
      dataDir: place.dir,
      databaseUrl: place.url,
      service: { name: place.name },
      breach: { baseUrl: server.url },
      users: { signUp: 'open', validatePassword: (password) => enforce(password) },
    });
    enforce = legate.breach.enforce;
    const body = (password: string) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.com', password }),
    });
    const refused = await legate.fetch(new Request('http://localhost:3000/sign-up', body(BREACHED)));
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
      422,
      'PASSWORD_BREACHED',
    ]);
    expect((await legate.fetch(new Request('http://localhost:3000/sign-up', body(GOOD)))).status).toBe(200);
    await legate.close();
  });
});
