import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { codeIn } from '../../../../test/support/mailbox.ts';
import {
  eventsAbout,
  form,
  mailedCode,
  mailedToken,
  PASSWORD,
  type Person,
  signedUp,
  signIn,
  withMailbox,
} from '../../../../test/support/people.ts';
import { createTestService } from '../../../../test/support/service.ts';

const MINUTE = 60_000;
const shared = withMailbox();
const person = async (): Promise<Person> => signedUp(await shared());
/** Each call returns another client address. */
let addresses = 0;
const ip = (): string => `198.51.100.${++addresses % 250}`;
const guess = (p: Person, o: { cookie?: string; password?: string; email?: string } = {}) =>
  p.t.call('POST', '/sign-in', {
    body: { email: o.email ?? p.email, password: o.password ?? 'wrong horse battery' },
    ip: ip(),
    ...(o.cookie ? { headers: { cookie: o.cookie } } : {}),
  });
const guesses = async (n: number, once: () => Promise<{ status: number }>): Promise<number[]> => {
  const all: number[] = [];
  for (let i = 0; i < n; i++) all.push((await once()).status);
  return all;
};
const times = (n: number, status: number): number[] => Array(n).fill(status);

describe('wrong passwords in a row', () => {
  it('get 429 after ten, from any address, even for the right password, for 15 minutes, then twice that', async () => {
    const p = await person();
    expect(await guesses(10, () => guess(p))).toEqual(times(10, 401));
    const r = await guess(p, { password: PASSWORD });
    expect([r.status, r.body.error.code, r.body.error.details, r.headers.get('retry-after')]).toEqual([
      429,
      'TOO_MANY_TRIES',
      { retryAfter: 900 },
      '900',
    ]);
    p.t.clock.advance(15 * MINUTE - 1);
    expect((await guess(p, { password: PASSWORD })).status).toBe(429);
    p.t.clock.advance(1);
    expect(await guesses(10, () => guess(p))).toEqual(times(10, 401));
    p.t.clock.advance(29 * MINUTE);
    expect((await guess(p)).headers.get('retry-after')).toBe('60');
    p.t.clock.advance(MINUTE);
    expect((await guess(p, { password: PASSWORD })).status).toBe(200);
    expect(await guesses(9, () => guess(p))).toEqual(times(9, 401));
    expect((await guess(p, { password: PASSWORD })).status).toBe(200);
  });

  it('cause a pause of at most a day', async () => {
    const p = await person();
    const waits: number[] = [];
    for (let i = 0; i < 10; i++) {
      await guesses(10, () => guess(p));
      waits.push((await guess(p)).body.error.details.retryAfter / 60);
      p.t.clock.advance((waits.at(-1) as number) * MINUTE);
    }
    expect(waits).toEqual([15, 30, 60, 120, 240, 480, 960, 1440, 1440, 1440]);
  });

  it('are counted exactly under concurrency, across instances and restarts', async () => {
    const p = await person();
    const second = await createTestService({ sameDatabaseAs: p.t });
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        (i % 2 ? p.t : second).call('POST', '/sign-in', {
          body: { email: p.email, password: `wrong ${i} horse` },
        }),
      ),
    );
    expect(all.map((r) => r.status).filter((status) => status === 401)).toHaveLength(10);
    expect((await second.call('POST', '/sign-in', { body: { email: p.email, password: PASSWORD } })).status).toBe(429);
    const third = await createTestService({ sameDatabaseAs: p.t });
    expect((await third.call('POST', '/sign-in', { body: { email: p.email, password: PASSWORD } })).status).toBe(429);
  });

  it('get the same responses for an address without an account', async () => {
    const p = await person();
    const answers = async (email: string) => {
      const all = [];
      for (let i = 0; i < 12; i++) all.push(await guess(p, { email }));
      return all.map((r) => [r.status, r.text, r.headers.get('retry-after')]);
    };
    expect(await answers('nobody-at-all@example.com')).toEqual(await answers(p.email));
  });

  it("do not affect the person's known browser, mailbox and session; a new password ends the pause", async () => {
    const p = await person();
    const cookies = (await signIn(p)).headers.getSetCookie();
    const known = cookies.find((c) => c.includes('_known_device='))?.split(';')[0] ?? '';
    await guesses(10, () => guess(p));
    expect((await guess(p, { password: PASSWORD })).status).toBe(429);
    const here = await guess(p, { password: PASSWORD, cookie: known });
    expect([here.status, here.headers.getSetCookie()]).toEqual([200, [expect.stringContaining('_session=')]]);
    expect((await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).status).toBe(200);
    const otp = await mailedCode(p);
    const byMail = await p.t.call('POST', '/email-otp/verify', { as: p.session, body: { email: p.email, otp } });
    expect(byMail.status).toBe(200);

    // The known browser has its own count, for this user only.
    const other = await person();
    expect(await guesses(10, () => guess(p, { cookie: known }))).toEqual(times(10, 401));
    expect((await guess(p, { password: PASSWORD, cookie: known })).status).toBe(429);
    await guesses(10, () => guess(other));
    expect((await guess(other, { password: PASSWORD, cookie: known })).status).toBe(429);
    expect((await guess(other, { password: PASSWORD, cookie: `${known}x` })).status).toBe(429);

    const token = await mailedToken(p, '/password/forgot');
    const newPassword = 'another horse battery';
    expect((await p.t.call('POST', '/password/reset', { body: { token, newPassword } })).status).toBe(200);
    expect((await guess(p, { password: newPassword })).status).toBe(200);
  });

  it('from within a session are counted for the session, at each endpoint that asks for the password', async () => {
    const p = await person();
    const other = (await signIn(p)).body.token;
    const body = { currentPassword: 'wrong horse', newPassword: 'another horse battery' };
    const change = (as = p.session, currentPassword = body.currentPassword) =>
      p.t.call('POST', '/password/change', { as, body: { ...body, currentPassword }, ip: ip() });
    const totp = (path: string, password: string) =>
      p.t.call('POST', path, { as: p.session, body: { password }, ip: ip() });
    expect(await guesses(4, () => change())).toEqual(times(4, 401));
    expect(await guesses(3, () => totp('/totp/enable', 'wrong horse'))).toEqual(times(3, 401));
    expect(await guesses(3, () => totp('/totp/disable', 'wrong horse'))).toEqual(times(3, 401));
    for (const r of [
      await change(p.session, PASSWORD),
      await totp('/totp/enable', PASSWORD),
      await totp('/totp/disable', PASSWORD),
    ])
      expect([r.status, r.body.error.code]).toEqual([429, 'TOO_MANY_TRIES']);
    expect((await signIn(p)).status).toBe(200);
    expect((await change(other, PASSWORD)).status).toBe(200);
  });

  it('are also limited per client address, where an endpoint asks for the password in a session', async () => {
    const t = await createTestService({ config: { rateLimit: {} } });
    const admin = (await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: PASSWORD } })).body;
    const all = await guesses(25, () =>
      t.call('POST', '/totp/disable', { as: admin.token, body: { password: PASSWORD } }),
    );
    expect(all).toEqual([...times(20, 200), ...times(5, 429)]);
  });
});

describe('codes by mail', () => {
  const ask = async (p: Person) => {
    const r = await p.t.call('POST', '/email-otp', { body: { email: p.email }, ip: ip() });
    expect(r.status).toBe(200);
    return { requestToken: r.body.requestToken as string, code: codeIn(await p.box.next(p.email)) };
  };
  const verify = (p: Person, otp: string, requestToken?: string) =>
    p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp, requestToken }, ip: ip() });
  const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');

  it('a code with its request token survives the guesses of others', async () => {
    const p = await person();
    const { requestToken, code } = await ask(p);
    expect(await guesses(10, () => verify(p, wrong(code)))).toEqual(times(10, 401));
    expect((await verify(p, code)).status).toBe(429);
    const stranger = await ask(p);
    expect((await verify(p, code, stranger.requestToken)).status).toBe(code === stranger.code ? 200 : 401);
    if (code !== stranger.code) expect((await verify(p, code, requestToken)).status).toBe(200);
  });

  it('allow three tries with the token, in the body or as a cookie, for its mailbox only', async () => {
    const [p, other] = [await person(), await person()];
    const { requestToken, code } = await ask(p);
    expect((await verify(other, code, requestToken)).status).toBe(401);
    const cookie = `${p.t.database.name}_email_code=${requestToken}`;
    const byCookie = (otp: string) =>
      p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp }, headers: { cookie } });
    expect(await guesses(3, () => byCookie(wrong(code)))).toEqual(times(3, 401));
    expect((await verify(p, code, requestToken)).status).toBe(401);
    const again = await ask(p);
    expect((await verify(p, again.code, again.requestToken)).status).toBe(200);
  });

  it('failures are counted across renewed codes', async () => {
    const p = await person();
    const all: number[] = [];
    for (let i = 0; i < 4; i++) {
      const { requestToken, code } = await ask(p);
      all.push(...(await guesses(3, () => verify(p, wrong(code), requestToken))));
    }
    expect(all).toEqual([...times(10, 401), 429, 429]);
    const { requestToken, code } = await ask(p);
    expect((await verify(p, code, requestToken)).status).toBe(429);
    expect((await eventsAbout(p, 'auth.failed')).at(-1)?.data).toMatchObject({ reason: 'TOO_MANY_TRIES' });
  });

  it('a pause becomes one event a minute, however many guesses it refuses', async () => {
    const p = await person();
    const events = async () =>
      (await eventsAbout(p, 'auth.failed')).map(({ data }) => [data.reason, data.countedBefore]);
    expect(await guesses(14, () => verify(p, 'x'))).toEqual([...times(10, 401), ...times(4, 429)]);
    expect((await events()).slice(10)).toEqual([['TOO_MANY_TRIES', undefined]]);
    p.t.clock.advance(MINUTE);
    expect(await guesses(2, () => verify(p, 'x'))).toEqual(times(2, 429));
    expect((await events()).slice(10)).toEqual([
      ['TOO_MANY_TRIES', undefined],
      ['TOO_MANY_TRIES', 3],
    ]);
  });

  it('are sent to a mailbox five times an hour for all callers; the response does not reveal this', async () => {
    const p = await person();
    const send = () => p.t.call('POST', '/email-otp', { body: { email: p.email }, ip: ip() });
    const before = p.box.mails.length;
    const all = await Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(all.map((r) => r.status))).toEqual(new Set([200]));
    await p.t.legate.platform.background.idle();
    await p.t.legate.platform.mailer.idle();
    expect(p.box.mails.slice(before).filter((m) => m.to.includes(p.email))).toHaveLength(5);
    p.t.clock.advance(60 * MINUTE);
    await send();
    await p.t.legate.platform.background.idle();
    await p.t.legate.platform.mailer.idle();
    expect(p.box.mails.slice(before).filter((m) => m.to.includes(p.email))).toHaveLength(6);
  });

  it('that cannot be sent are not valid', async () => {
    const t = await createTestService({ printMail: () => {} });
    await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: PASSWORD } });
    const codes: string[] = [];
    const { mailer } = t.legate.platform;
    const full = { ...mailer, send: (mail: { code?: string }) => codes.push(mail.code ?? '') < 0 };
    Object.assign(t.legate.platform, { mailer: full });
    const { requestToken } = (await t.call('POST', '/email-otp', { body: { email: 'ada@example.com' } })).body;
    await t.legate.platform.background.idle();
    const body = { email: 'ada@example.com', otp: codes[0], requestToken };
    expect(codes).toHaveLength(1);
    expect((await t.call('POST', '/email-otp/verify', { body })).status).toBe(401);
  });

  it('get the same responses for an address without an account', async () => {
    const p = await person();
    const answers = async (email: string) => {
      const all = [];
      for (let i = 0; i < 12; i++)
        all.push(await p.t.call('POST', '/email-otp/verify', { body: { email, otp: 'x' }, ip: ip() }));
      return all.map((r) => [r.status, r.text]);
    };
    expect(await answers('nobody-here@example.com')).toEqual(await answers(p.email));
  });
});

describe('wrong backup codes in a row', () => {
  it('get 429 after ten; codes of the app are still accepted', async () => {
    const p = await person();
    const { secret, backupCodes } = (
      await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })
    ).body;
    const code = () => generateSync({ secret, epoch: p.t.clock.now() / 1000 });
    expect((await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: code() } })).status).toBe(200);
    p.t.clock.advance(30_000);
    const verify = async (given: string) =>
      p.t.call('POST', '/totp/verify', {
        body: { code: given, twoFactorToken: (await signIn(p)).body.twoFactorToken },
        ip: ip(),
      });
    expect(await guesses(10, () => verify('aaaaa-aaaaa'))).toEqual(times(10, 401));
    expect((await verify(backupCodes[0])).status).toBe(429);
    expect((await verify(code())).status).toBe(200);
  });
});

describe('wrong codes of a second factor that was replaced', () => {
  const enable = async (p: Person, as: string): Promise<{ secret: string; backupCodes: string[] }> => {
    const { body } = await p.t.call('POST', '/totp/enable', { as, body: { password: PASSWORD } });
    const code = generateSync({ secret: body.secret, epoch: p.t.clock.now() / 1000 });
    expect((await p.t.call('POST', '/totp/verify', { as, body: { code } })).status).toBe(200);
    p.t.clock.advance(30_000);
    return body;
  };
  const verify = async (p: Person, code: string) =>
    p.t.call('POST', '/totp/verify', {
      body: { code, twoFactorToken: (await signIn(p)).body.twoFactorToken },
      ip: ip(),
    });

  it('do not count against the one that a repeated set-up creates', async () => {
    const p = await person();
    const body = { password: PASSWORD };
    const first = (await p.t.call('POST', '/totp/enable', { as: p.session, body })).body;
    const wrong = ['000000', '111111', '222222'].find((code) => code !== current(p, first.secret)) as string;
    const send = (code: string) => p.t.call('POST', '/totp/verify', { as: p.session, body: { code } });
    expect(await guesses(10, () => send(wrong))).toEqual(times(10, 401));
    expect((await send(current(p, first.secret))).status).toBe(429);
    const { secret } = (await p.t.call('POST', '/totp/enable', { as: p.session, body })).body;
    expect((await send(current(p, secret))).status).toBe(200);
  });

  for (const replaced of ['by an administrator', 'by the person'])
    it(`do not count against the new one: ${replaced}`, async () => {
      const p = await person();
      const old = await enable(p, p.session);
      const wrong = ['000000', '111111', '222222'].find((code) => code !== current(p, old.secret)) as string;
      expect(await guesses(10, () => verify(p, wrong))).toEqual(times(10, 401));
      expect(await guesses(10, () => verify(p, 'aaaaa-aaaaa'))).toEqual(times(10, 401));
      expect((await verify(p, current(p, old.secret))).status).toBe(429);
      if (replaced === 'by an administrator') {
        const admin = await p.t.user({ role: 'admin' });
        expect((await p.t.call('DELETE', `/users/${p.id}/second-factor`, { as: admin })).status).toBe(204);
      } else {
        const body = { password: PASSWORD, code: current(p, old.secret) };
        expect((await p.t.call('POST', '/totp/disable', { as: p.session, body })).status).toBe(200);
      }
      const { secret, backupCodes } = await enable(p, (await signIn(p)).body.token);
      expect((await verify(p, current(p, secret))).status).toBe(200);
      expect((await verify(p, backupCodes[0] as string)).status).toBe(200);
    });

  it('do not count against renewed backup codes', async () => {
    const p = await person();
    const { secret } = await enable(p, p.session);
    expect(await guesses(10, () => verify(p, 'aaaaa-aaaaa'))).toEqual(times(10, 401));
    const renewed = await p.t.call('POST', '/account/two-factor', {
      as: p.session,
      ...form({ action: 'backup-codes', code: current(p, secret) }),
    });
    const code = /<code>([a-z0-9-]{11})<\/code>/.exec(renewed.text)?.[1] as string;
    expect((await verify(p, code)).status).toBe(200);
  });

  it('do not count against what the owner of the address sets up after proving it', async () => {
    const p = await person();
    await enable(p, p.session);
    expect(await guesses(10, () => verify(p, '000000'))).toEqual(times(10, 401));
    expect(await guesses(10, () => guess(p))).toEqual(times(10, 401));
    const token = await mailedToken(p, '/magic-link');
    const { body } = await p.t.call('POST', '/magic-link/verify', { body: { token } });
    expect(body.user).toMatchObject({ emailVerified: true, twoFactorEnabled: false });
    const rows = await p.t.legate.platform.database.read
      .selectFrom('attempts')
      .select('guessed')
      .where('account', '=', p.id)
      .execute();
    expect(rows).toEqual([]);
  });

  const current = (p: Person, secret: string): string => generateSync({ secret, epoch: p.t.clock.now() / 1000 });
});
