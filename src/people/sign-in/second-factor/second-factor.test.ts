import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../../test/support/events.ts';
import { type Answered, createTestService, type TestService } from '../../../../test/support/service.ts';
import { asId } from '../../../kernel/ids.ts';

const password = 'correct horse battery';
const STEP_MS = 30_000;

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));
let count = 0;

interface Person {
  readonly t: TestService;
  readonly email: string;
  readonly id: string;
  /** Session token of the sign-up. */
  readonly session: string;
}

async function person(): Promise<Person> {
  const t = await shared();
  const email = `person${++count}@example.com`;
  const { body } = await t.call('POST', '/sign-up', { body: { email, password } });
  return { t, email, id: body.user.id, session: body.token };
}

/** The code that an authenticator app shows, computed by otplib. */
const codeAt = (secret: string, ms: number): string => generateSync({ secret, epoch: ms / 1000 });
const codeNow = ({ t }: Person, secret: string): string => codeAt(secret, t.clock.now());
/** A six-digit code that is not valid at the current time. */
const wrongCode = ({ t }: Person, secret: string): string => {
  const near = [-2, -1, 0, 1, 2].map((n) => codeAt(secret, t.clock.now() + n * STEP_MS));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code)) as string;
};

async function begin(p: Person): Promise<{ secret: string; backupCodes: string[]; totpURI: string }> {
  const r = await p.t.call('POST', '/totp/enable', { as: p.session, body: { password } });
  expect(r.status).toBe(200);
  return r.body;
}

/** A user whose second factor is on. The clock has advanced since, so that the current code is unused. */
async function withTotp(): Promise<Person & { secret: string; backupCodes: string[] }> {
  const p = await person();
  const { secret, backupCodes } = await begin(p);
  expect((await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, secret) } })).status).toBe(
    200,
  );
  p.t.clock.advance(STEP_MS);
  return { ...p, secret, backupCodes };
}

const signIn = (p: Person, o: { cookie?: string; rememberMe?: boolean } = {}): Promise<Answered> =>
  p.t.call('POST', '/sign-in', {
    body: { email: p.email, password, ...(o.rememberMe === undefined ? {} : { rememberMe: o.rememberMe }) },
    ...(o.cookie ? { headers: { cookie: o.cookie } } : {}),
  });
const firstStep = async (p: Person): Promise<string> => (await signIn(p)).body.twoFactorToken;
const verify = (p: Person, body: object): Promise<Answered> => p.t.call('POST', '/totp/verify', { body });
const failedEvents = async (p: Person) =>
  (await eventsOf(p.t)).filter((e) => e.type === 'auth.failed' && e.userId === p.id);
const INVALID_CODE = {
  error: { code: 'INVALID_CODE', message: 'The code is wrong, already used, or expired.' },
};

describe('POST /totp/enable', () => {
  it('200: secret, URI for the app and ten backup codes; off until the first code', async () => {
    const p = await person();
    const { secret, totpURI, backupCodes } = await begin(p);
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    const uri = new URL(totpURI);
    expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
      'otpauth:',
      'totp',
      `/${p.t.database.name}:${p.email}`,
    ]);
    expect(uri.searchParams.get('secret')).toBe(secret);
    expect(new Set(backupCodes).size).toBe(10);
    for (const code of backupCodes) expect(code).toMatch(/^[a-z2-9]{5}-[a-z2-9]{5}$/);
    expect((await signIn(p)).body).toMatchObject({ token: expect.any(String), user: { twoFactorEnabled: false } });
  });

  it('keeps the secret encrypted and the backup codes hashed', async () => {
    const p = await person();
    const { secret, backupCodes } = await begin(p);
    const { read } = p.t.legate.platform.database;
    const stored = JSON.stringify([
      await read.selectFrom('totp_secrets').selectAll().execute(),
      await read.selectFrom('backup_codes').selectAll().execute(),
    ]);
    for (const plain of [secret, ...backupCodes, ...backupCodes.map((c) => c.replace('-', ''))])
      expect(stored).not.toContain(plain);
  });

  it('a repeated set-up replaces the first', async () => {
    const p = await person();
    const [first, second] = [await begin(p), await begin(p)];
    expect(
      (await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, first.secret) } })).status,
    ).toBe(401);
    expect(
      (await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, second.secret) } })).status,
    ).toBe(200);
  });

  it('400, 401, 403 and 409', async () => {
    const p = await withTotp();
    const enable = (body: object, as: string | undefined = p.session) => p.t.call('POST', '/totp/enable', { as, body });
    expect((await enable({})).body.error.details.issues[0].path).toBe('password');
    expect((await p.t.call('POST', '/totp/enable', { body: { password } })).status).toBe(401);
    const wrong = await enable({ password: 'wrong horse' });
    expect([wrong.status, wrong.body.error.code]).toEqual([401, 'INVALID_PASSWORD']);
    expect((await failedEvents(p)).at(-1)?.data).toMatchObject({
      method: 'password',
      reason: 'INVALID_PASSWORD',
      ipAddress: '192.0.2.1',
    });
    expect((await enable({ password }, (await p.t.user()).token)).status).toBe(403);
    const again = await enable({ password });
    expect([again.status, again.body.error.code]).toEqual([409, 'TOTP_ALREADY_ENABLED']);
  });
});

describe('POST /totp/verify by a signed-in user', () => {
  it('200: the first correct code switches it on, and the session continues', async () => {
    const p = await person();
    const { secret } = await begin(p);
    const r = await p.t.call('POST', '/totp/verify', {
      as: p.session,
      body: { code: ` ${codeNow(p, secret).slice(0, 3)} ${codeNow(p, secret).slice(3)}` },
    });
    expect(r.status).toBe(200);
    expect(r.body).toEqual({ token: p.session, user: expect.objectContaining({ id: p.id, twoFactorEnabled: true }) });
    expect((await p.t.call('GET', '/auth/session', { as: p.session })).body.user.twoFactorEnabled).toBe(true);
    expect(r.text).not.toContain(secret);
  });

  it('accepts a cookie only from pages of this service', async () => {
    const p = await person();
    const { secret } = await begin(p);
    const cookie = `${p.t.database.name}_session=${p.session}`;
    const from = (origin: string) =>
      p.t.call('POST', '/totp/verify', { body: { code: codeNow(p, secret) }, headers: { cookie, origin } });
    expect((await from('https://elsewhere.example')).status).toBe(403);
    expect((await from(p.t.legate.baseUrl)).body.token).toBe(p.session);
  });

  it('401 for a wrong code and for a backup code; 409 without a set-up; 403 for an API token', async () => {
    const p = await person();
    const reauthorize = (code: string) => p.t.call('POST', '/totp/verify', { as: p.session, body: { code } });
    const nothing = await reauthorize('123456');
    expect([nothing.status, nothing.body.error.code]).toEqual([409, 'TOTP_NOT_SET_UP']);
    const { secret, backupCodes } = await begin(p);
    for (const code of [wrongCode(p, secret), backupCodes[0] as string, '1234567', 'x', '\u0000', '\ud800']) {
      const r = await reauthorize(code);
      expect([r.status, r.body]).toEqual([401, INVALID_CODE]);
    }
    expect((await p.t.call('GET', '/auth/session', { as: p.session })).body.user.twoFactorEnabled).toBe(false);
    expect(
      (await p.t.call('POST', '/totp/verify', { as: (await p.t.user()).token, body: { code: '123456' } })).status,
    ).toBe(403);
    expect((await verify(p, { code: '123456' })).status).toBe(401);
    expect((await verify(p, {})).status).toBe(400);
  });
});

describe('sign-in with a second factor', () => {
  it('200: no session before the code, and one afterwards', async () => {
    const p = await withTotp();
    const first = await signIn(p, { rememberMe: false });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      twoFactorRequired: true,
      twoFactorMethods: ['totp'],
      twoFactorToken: expect.stringMatching(/^lgo_/),
    });
    expect(first.headers.get('set-cookie')).toBeNull();
    expect((await p.t.call('GET', '/auth/session', { as: first.body.twoFactorToken })).status).toBe(401);

    const r = await verify(p, { code: codeNow(p, p.secret), twoFactorToken: first.body.twoFactorToken });
    expect(r.status).toBe(200);
    expect(r.body.user).toMatchObject({ id: p.id, twoFactorEnabled: true });
    expect(r.headers.getSetCookie()[0]).toBe(
      `${p.t.database.name}_session=${r.body.token}; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect((await p.t.call('GET', '/auth/session', { as: r.body.token })).status).toBe(200);
    const event = (await eventsOf(p.t)).filter((e) => e.type === 'auth.signin' && e.userId === p.id).at(-1);
    expect(event?.data).toMatchObject({
      userId: p.id,
      sessionId: expect.stringMatching(/^ses_/),
      method: 'password+totp',
      ipAddress: '192.0.2.1',
    });
  });

  it('accepts the current code while the time of the ledger is ahead of the clock', async () => {
    const t = await createTestService();
    const { body } = await t.call('POST', '/sign-up', { body: { email: 'ahead@example.com', password } });
    const p = { t, email: 'ahead@example.com', id: body.user.id, session: body.token };
    const { secret } = await begin(p);
    t.clock.advance(10 * 60_000);
    await signIn(p);
    t.clock.advance(-10 * 60_000);
    const r = await t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, secret) } });
    expect([r.status, r.body.user?.twoFactorEnabled]).toEqual([200, true]);
    t.clock.advance(STEP_MS);
    const twoFactorToken = await firstStep(p);
    expect((await verify(p, { twoFactorToken, code: codeNow(p, secret) })).status).toBe(200);
  });

  it('accepts the codes of the previous and the next step, but not of steps further away', async () => {
    for (const [steps, status] of [
      [-2, 401],
      [-1, 200],
      [1, 200],
      [2, 401],
    ] as const) {
      const p = await withTotp();
      p.t.clock.advance(5 * STEP_MS);
      const code = codeAt(p.secret, p.t.clock.now() + steps * STEP_MS);
      expect([steps, (await verify(p, { code, twoFactorToken: await firstStep(p) })).status]).toEqual([steps, status]);
    }
  });

  it('accepts no code twice, and none older than the last', async () => {
    const p = await withTotp();
    const code = codeNow(p, p.secret);
    const before = codeAt(p.secret, p.t.clock.now() - STEP_MS);
    expect((await verify(p, { code, twoFactorToken: await firstStep(p) })).status).toBe(200);
    for (const replayed of [code, before]) {
      const r = await verify(p, { code: replayed, twoFactorToken: await firstStep(p) });
      expect([r.status, r.body]).toEqual([401, INVALID_CODE]);
    }
  });

  it('exactly one of 50 concurrent requests with one code signs in, with one first step or with many', async () => {
    const p = await withTotp();
    const tokens = [await firstStep(p), await firstStep(p), await firstStep(p), await firstStep(p), await firstStep(p)];
    const code = codeNow(p, p.secret);
    const before = (
      await p.t.legate.platform.database.read
        .selectFrom('sessions')
        .select('id')
        .where('user_id', '=', asId('user', p.id))
        .execute()
    ).length;
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) => verify(p, { code, twoFactorToken: tokens[i % tokens.length] })),
    );
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(49).fill(401)]);
    const after = (
      await p.t.legate.platform.database.read
        .selectFrom('sessions')
        .select('id')
        .where('user_id', '=', asId('user', p.id))
        .execute()
    ).length;
    expect(after - before).toBe(1);
  });

  it('a first step is valid for ten minutes and once', async () => {
    const p = await withTotp();
    const [late, used] = [await firstStep(p), await firstStep(p)];
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: used })).status).toBe(200);
    p.t.clock.advance(STEP_MS);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: used })).body).toEqual(INVALID_CODE);
    p.t.clock.advance(10 * 60_000);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: late })).body).toEqual(INVALID_CODE);
    for (const twoFactorToken of ['', 'x', p.session, `lgo_${'x'.repeat(49)}`])
      expect((await verify(p, { code: '123456', twoFactorToken })).body).toEqual(INVALID_CODE);
  });

  it('five wrong codes end the first step, counted exactly for concurrent requests', async () => {
    const p = await withTotp();
    const twoFactorToken = await firstStep(p);
    const all = await Promise.all(
      Array.from({ length: 5 }, () => verify(p, { code: wrongCode(p, p.secret), twoFactorToken })),
    );
    expect(all.map((r) => r.status)).toEqual(Array(5).fill(401));
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken })).body).toEqual(INVALID_CODE);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: await firstStep(p) })).status).toBe(200);
    const failed = (await failedEvents(p)).filter((e) => e.data.method === 'totp');
    expect(failed).toHaveLength(5);
    expect(failed[0]?.data).toEqual({
      userId: p.id,
      emailHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      method: 'totp',
      reason: 'INVALID_CODE',
      ipAddress: '192.0.2.1',
    });
  });

  it('429 after ten wrong codes in a row over any first steps, until the pause ends; a backup code works', async () => {
    const p = await withTotp();
    for (let i = 0; i < 10; i++)
      expect((await verify(p, { code: wrongCode(p, p.secret), twoFactorToken: await firstStep(p) })).status).toBe(401);
    const r = await verify(p, { code: codeNow(p, p.secret), twoFactorToken: await firstStep(p) });
    expect([r.status, r.body.error.code, r.headers.get('retry-after')]).toEqual([429, 'TOO_MANY_TRIES', '900']);
    expect((await verify(p, { code: p.backupCodes[3], twoFactorToken: await firstStep(p) })).status).toBe(200);
    p.t.clock.advance(15 * 60_000 - 1);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: await firstStep(p) })).status).toBe(429);
    p.t.clock.advance(1);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: await firstStep(p) })).status).toBe(200);
  });

  it('accepts each backup code once, in any spelling, also for concurrent requests', async () => {
    const p = await withTotp();
    const [one, two] = p.backupCodes as [string, string];
    expect(
      (await verify(p, { code: one.toUpperCase().replace('-', ' '), twoFactorToken: await firstStep(p) })).status,
    ).toBe(200);
    expect((await verify(p, { code: one, twoFactorToken: await firstStep(p) })).body).toEqual(INVALID_CODE);
    const tokens = await Promise.all(Array.from({ length: 5 }, () => firstStep(p)));
    const all = await Promise.all(tokens.map((twoFactorToken) => verify(p, { code: two, twoFactorToken })));
    expect(all.map((r) => r.status).sort()).toEqual([200, 401, 401, 401, 401]);
    const methods = (await eventsOf(p.t))
      .filter((e) => e.type === 'auth.signin' && e.userId === p.id)
      .map((e) => e.data.method);
    expect(methods.slice(-2)).toEqual(['password+backup-code', 'password+backup-code']);
  });

  it('refuses a code of another user', async () => {
    const [p, other] = [await withTotp(), await withTotp()];
    expect((await verify(p, { code: codeNow(p, other.secret), twoFactorToken: await firstStep(p) })).status).toBe(401);
    expect((await verify(p, { code: other.backupCodes[0], twoFactorToken: await firstStep(p) })).status).toBe(401);
  });
});

describe('a trusted device', () => {
  const trust = async (p: Person & { secret: string }): Promise<string> => {
    const r = await verify(p, { code: codeNow(p, p.secret), twoFactorToken: await firstStep(p), trustDevice: true });
    p.t.clock.advance(STEP_MS);
    const [session, , device] = r.headers.getSetCookie();
    expect(session).toContain('_session=');
    expect(device).toMatch(/_trusted_device=lgd_[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/);
    return (device as string).split(';')[0] as string;
  };

  it('needs no code for 30 days, for its user only', async () => {
    const [p, other] = [await withTotp(), await withTotp()];
    const cookie = await trust(p);
    expect((await signIn(p, { cookie })).body.token).toEqual(expect.any(String));
    expect((await signIn(other, { cookie })).body.twoFactorRequired).toBe(true);
    expect(
      (await signIn(p, { cookie: cookie.replace(/.$/, (c) => (c === 'x' ? 'y' : 'x')) })).body.twoFactorRequired,
    ).toBe(true);
    p.t.clock.advance(30 * 86_400_000);
    expect((await signIn(p, { cookie })).body.twoFactorRequired).toBe(true);
  });
});

describe('POST /totp/disable', () => {
  it('200: sign-ins need no code, and pending ones end', async () => {
    const p = await withTotp();
    const waiting = await firstStep(p);
    const r = await p.t.call('POST', '/totp/disable', {
      as: p.session,
      body: { password, code: codeNow(p, p.secret) },
    });
    expect([r.status, r.body]).toEqual([200, { status: true }]);
    expect((await signIn(p)).body.user.twoFactorEnabled).toBe(false);
    expect((await verify(p, { code: codeNow(p, p.secret), twoFactorToken: waiting })).body).toEqual(INVALID_CODE);
    const { read } = p.t.legate.platform.database;
    for (const table of ['totp_secrets', 'backup_codes'] as const)
      expect(await read.selectFrom(table).selectAll().where('user_id', '=', asId('user', p.id)).execute()).toEqual([]);
    expect((await p.t.call('POST', '/totp/disable', { as: p.session, body: { password } })).status).toBe(200);
  });

  it('401 without the password and without a session', async () => {
    const p = await withTotp();
    const wrong = await p.t.call('POST', '/totp/disable', { as: p.session, body: { password: 'wrong horse' } });
    expect([wrong.status, wrong.body.error.code]).toEqual([401, 'INVALID_PASSWORD']);
    expect((await p.t.call('POST', '/totp/disable', { body: { password } })).status).toBe(401);
    expect((await signIn(p)).body.twoFactorRequired).toBe(true);
  });
});

describe('DELETE /users/:id/second-factor', () => {
  it('204: an administrator switches it off for a user; 404 for an unknown user', async () => {
    const p = await withTotp();
    const admin = await p.t.admin();
    const off = (id: string, as: { token: string } | string = admin) =>
      p.t.call('DELETE', `/users/${id}/second-factor`, { as });
    expect((await off(p.id, p.session)).status).toBe(403);
    expect((await off('usr_x')).body.error.code).toBe('USER_NOT_FOUND');
    expect((await off(p.id)).status).toBe(204);
    expect((await signIn(p)).body.user.twoFactorEnabled).toBe(false);
  });
});
