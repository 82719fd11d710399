import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { tokenIn } from '../../../test/support/mailbox.ts';
import {
  eventsAbout,
  expectForeignUrlsRefused,
  form,
  isSignedIn,
  mailedCode,
  mailedToken,
  PASSWORD,
  type Person,
  signedUp,
  signIn,
  verified,
  withMailbox,
} from '../../../test/support/people.ts';
import { createTestService } from '../../../test/support/service.ts';
import type { Mail } from '../../operations/mail/index.ts';

const shared = withMailbox({ config: { http: { trustedOrigins: ['https://app.example.com'] } } });
const person = async (): Promise<Person> => signedUp(await shared());

const NEW = 'a better horse battery';
const change = (p: Person, body: object, as: string | undefined = p.session) =>
  p.t.call('POST', '/password/change', { as, body });
const reset = (p: Person, token: string, newPassword = NEW) =>
  p.t.call('POST', '/password/reset', { body: { token, newPassword } });
const askForReset = (p: Person, body: object = {}) => mailedToken(p, '/password/forgot', body);

/** Passwords that are refused with 400, with the problem of each. */
const BAD = ['', '1234567', 'x'.repeat(1025), `${'ä'.repeat(512)}x`, '12345678\ud800'];

describe('POST /password/change', () => {
  it('200: only the new password is valid, and all other sessions end', async () => {
    const p = await person();
    const other = (await signIn(p)).body.token;
    const r = await change(p, { currentPassword: PASSWORD, newPassword: NEW });
    expect([r.status, r.body]).toEqual([200, { status: true }]);
    expect([await isSignedIn(p), await isSignedIn(p, other)]).toEqual([true, false]);
    expect([(await signIn(p)).status, (await signIn(p, NEW)).status]).toEqual([401, 200]);
    expect((await eventsAbout(p, 'auth.signout')).map((e) => e.data.reason)).toEqual(['password-changed']);
    expect((await p.box.next(p.email)).subject).toMatch(/^Your password for \w+ was changed$/);
  });

  it('ends unused links, trusted devices and sign-ins that wait for a second factor', async () => {
    const p = await person();
    const link = await mailedToken(p, '/magic-link');
    const resetToken = await askForReset(p);
    const { secret } = (await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).body;
    const code = () => generateSync({ secret, epoch: p.t.clock.now() / 1000 });
    const trusted = await p.t.call('POST', '/totp/verify', {
      as: p.session,
      body: { code: code(), trustDevice: true },
    });
    const cookie = trusted.headers.get('set-cookie')?.split(';')[0] ?? '';
    const { twoFactorToken } = (await signIn(p)).body;
    expect((await change(p, { currentPassword: PASSWORD, newPassword: NEW })).status).toBe(200);
    p.t.clock.advance(30_000);
    expect((await p.t.call('POST', '/totp/verify', { body: { code: code(), twoFactorToken } })).status).toBe(401);
    expect((await p.t.call('POST', '/magic-link/verify', { body: { token: link } })).status).toBe(401);
    expect((await reset(p, resetToken)).status).toBe(401);
    const again = await p.t.call('POST', '/sign-in', { body: { email: p.email, password: NEW }, headers: { cookie } });
    expect(again.body.twoFactorRequired).toBe(true);
  });

  it('ends mailed codes', async () => {
    const p = await verified(await person());
    const otp = await mailedCode(p);
    expect((await change(p, { currentPassword: PASSWORD, newPassword: NEW })).status).toBe(200);
    const r = await p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp } });
    expect([r.status, r.body.error.code]).toEqual([401, 'INVALID_CODE']);
  });

  it('400 for an invalid new password, 401 for a wrong or missing current one, 403 without a session', async () => {
    const p = await person();
    for (const newPassword of BAD) {
      const r = await change(p, { currentPassword: PASSWORD, newPassword });
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, 'newPassword']);
    }
    for (const currentPassword of ['wrong horse battery', '', NEW, `${PASSWORD}\u0000`, '\ud800', 'x'.repeat(5000)]) {
      const r = await change(p, { currentPassword, newPassword: NEW });
      expect([r.status, r.body.error.code]).toEqual([401, 'INVALID_PASSWORD']);
    }
    expect((await eventsAbout(p, 'auth.failed')).at(-1)?.data).toMatchObject({
      method: 'password',
      reason: 'INVALID_PASSWORD',
    });
    expect(
      (await p.t.call('POST', '/password/change', { body: { currentPassword: PASSWORD, newPassword: NEW } })).status,
    ).toBe(401);
    expect((await change(p, { currentPassword: PASSWORD, newPassword: NEW }, (await p.t.user()).token)).status).toBe(
      403,
    );
    expect([(await signIn(p)).status, await isSignedIn(p)]).toEqual([200, true]);
  });

  it('exactly one of many concurrent changes succeeds', async () => {
    const p = await person();
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) => change(p, { currentPassword: PASSWORD, newPassword: `${NEW} ${i}` })),
    );
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(9).fill(401)]);
  });
});

describe('POST /password/forgot', () => {
  it('200, the same with or without an account, and mail only to an account', async () => {
    const p = await person();
    expect(await askForReset(p)).toMatch(/^lgo_/);
    const unknown = await p.t.call('POST', '/password/forgot', { body: { email: 'nobody@example.com' } });
    expect([unknown.status, unknown.text]).toEqual([200, '{"status":true}']);
    await p.t.legate.platform.background.idle();
    expect(p.box.mails.flatMap((m) => m.to)).not.toContain('nobody@example.com');
  });

  it('links to a trusted callbackURL, with the token; 400 for any other', async () => {
    const p = await person();
    await p.t.call('POST', '/password/forgot', {
      body: { email: p.email, callbackURL: 'https://app.example.com/new?a=b&token=x#y' },
    });
    const mail = await p.box.next(p.email);
    expect(mail.text).toMatch(/https:\/\/app\.example\.com\/new\?a=b&token=lgo_[\w-]+#y/);
    expect((await reset(p, tokenIn(mail))).status).toBe(200);
    await expectForeignUrlsRefused(p, '/password/forgot', { email: p.email });
  });

  it('does not link to paths of its own origin except users.resetPages', async () => {
    const mails: Mail[] = [];
    const t = await createTestService({
      config: { users: { resetPages: ['/app/reset'] } },
      printMail: (mail) => void mails.push(mail),
    });
    const email = 'ada@example.com';
    await t.call('POST', '/sign-up', { body: { email, password: PASSWORD } });
    const ask = (callbackURL: string) => t.call('POST', '/password/forgot', { body: { email, callbackURL } });
    for (const callbackURL of [
      '/',
      '/oauth/authorize?client_id=x',
      'http://localhost:3000/app',
      '/app/reset/../other',
      '/app/reset/',
      '/app/resetting',
    ]) {
      const r = await ask(callbackURL);
      expect([callbackURL, r.status]).toEqual([callbackURL, 400]);
      expect(r.body.error.details.issues[0].path).toBe('callbackURL');
    }
    expect((await ask('/app/reset?from=mail')).status).toBe(200);
    await t.legate.platform.background.idle();
    expect(mails.map((mail) => mail.link)).toEqual([
      expect.stringMatching(/^http:\/\/localhost:3000\/app\/reset\?from=mail&token=lgo_/),
    ]);
    for (const path of ['//elsewhere', 'reset', '/a?b', '/a#b'])
      await expect(createTestService({ config: { users: { resetPages: [path] } } })).rejects.toThrow(/resetPages/);
  });
});

describe('GET /password/reset', () => {
  it('keeps at most ten links valid: a new one replaces the oldest', async () => {
    const p = await person();
    const tokens: string[] = [];
    for (let i = 0; i < 11; i++) {
      p.t.clock.advance(1);
      tokens.push(await askForReset(p));
    }
    const shown: number[] = [];
    for (const token of tokens) shown.push((await p.t.call('GET', `/password/reset?token=${token}`)).status);
    expect(shown).toEqual([401, ...Array(10).fill(200)]);
  });

  it('200: a form while the link is valid; 401 afterwards', async () => {
    const p = await person();
    const token = await askForReset(p);
    for (let i = 0; i < 2; i++) {
      const r = await p.t.call('GET', `/password/reset?token=${token}`);
      expect(r.status).toBe(200);
      expect(r.headers.get('referrer-policy')).toBe('no-referrer');
      expect(r.text).toContain('autocomplete="new-password"');
    }
    const sent = await p.t.call('POST', '/password/reset', form({ token, newPassword: 'short' }));
    expect(sent.status).toBe(400);
    expect(sent.text).toContain('Enter a password of at least 8 characters.');
    expect(sent.text).not.toContain('short');
    const done = await p.t.call('POST', '/password/reset', form({ token, newPassword: NEW }));
    expect([done.status, done.headers.get('content-type'), done.headers.get('set-cookie')]).toEqual([
      200,
      'text/html; charset=utf-8',
      null,
    ]);
    expect((await p.t.call('GET', `/password/reset?token=${token}`)).status).toBe(401);
    expect((await p.t.call('POST', '/password/reset', form({ token, newPassword: NEW }))).status).toBe(401);
    expect((await signIn(p, NEW)).status).toBe(200);
  });
});

describe('POST /password/reset', () => {
  it('200: ends all sessions and other links, verifies the address, and begins no session', async () => {
    const p = await person();
    const [first, second] = [await askForReset(p), await askForReset(p)];
    const link = await mailedToken(p, '/magic-link');
    const r = await reset(p, second);
    expect([r.status, r.body, r.headers.get('set-cookie')]).toEqual([200, { status: true }, null]);
    expect(await isSignedIn(p)).toBe(false);
    expect((await eventsAbout(p, 'auth.signout')).map((e) => e.data.reason)).toEqual(['address-proved']);
    expect([(await signIn(p)).status, (await signIn(p, NEW)).body.user.emailVerified]).toEqual([401, true]);
    expect((await reset(p, first)).status).toBe(401);
    expect((await p.t.call('POST', '/magic-link/verify', { body: { token: link } })).status).toBe(401);
  });

  it('ends mailed codes', async () => {
    const p = await verified(await person());
    const otp = await mailedCode(p);
    expect((await reset(p, await askForReset(p))).status).toBe(200);
    const r = await p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp } });
    expect([r.status, r.body.error.code]).toEqual([401, 'INVALID_CODE']);
  });

  it('the change records whether the account had a password', async () => {
    const p = await person();
    const admin = await p.t.admin();
    const recorded = async () => {
      const all = (await p.t.call('GET', '/changes?type=user.updated&limit=100', { as: admin })).body;
      return all
        .filter((c: { userId: string; after?: object }) => c.userId === p.id && c.after && 'password' in c.after)
        .map((c: { before: object; after: object }) => [c.before, c.after])
        .reverse();
    };
    // The first verification of the address ends the password.
    expect((await reset(p, await askForReset(p))).status).toBe(200);
    expect((await p.box.next(p.email)).subject).toMatch(/was reset$/);
    expect((await reset(p, await askForReset(p), `${NEW} 2`)).status).toBe(200);
    expect(await recorded()).toEqual([
      [
        { emailVerified: false, password: 'set' },
        { emailVerified: true, password: null },
      ],
      [{ password: null }, { password: 'set' }],
      [{ password: 'set' }, { password: 'changed' }],
    ]);
  });

  it('mails what ended: more with the first proof of the address, unless the person is signed in', async () => {
    const mailed = async (p: Person, as?: string): Promise<string> => {
      const token = await askForReset(p);
      const body = { token, newPassword: NEW };
      expect((await p.t.call('POST', '/password/reset', { body, ...(as ? { as } : {}) })).status).toBe(200);
      return (await p.box.next(p.email)).text;
    };
    const kept = /agents and their tokens are unchanged, and your passkeys still work/;
    const p = await person();
    const first = await mailed(p);
    expect(first).toMatch(
      /passkeys, the second\s+factor, connections with identity\s+providers and MCP servers, API tokens/,
    );
    expect(first).not.toMatch(kept);
    expect(await mailed(p)).toMatch(kept);
    const here = await person();
    expect(await mailed(here, here.session)).toMatch(kept);
  });

  it('does not turn off the second factor', async () => {
    const p = await verified(await person());
    const { secret } = (await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).body;
    await p.t.call('POST', '/totp/verify', {
      as: p.session,
      body: { code: generateSync({ secret, epoch: p.t.clock.now() / 1000 }) },
    });
    expect((await reset(p, await askForReset(p))).status).toBe(200);
    expect((await signIn(p, NEW)).body.twoFactorRequired).toBe(true);
  });

  it('400 for an invalid password; the link stays valid', async () => {
    const p = await person();
    const token = await askForReset(p);
    for (const newPassword of BAD)
      expect((await reset(p, token, newPassword)).body.error.details.issues[0].path).toBe('newPassword');
    expect((await reset(p, token)).status).toBe(200);
  });

  it('401 after an hour, after use, and for an unknown token', async () => {
    const p = await person();
    const [old, link] = [await askForReset(p), await mailedToken(p, '/magic-link')];
    p.t.clock.advance(60 * 60_000);
    for (const token of [old, link, '', 'x', '\u0000', p.session]) {
      const r = await reset(p, token);
      expect([r.status, r.body.error.code]).toEqual([401, 'INVALID_TOKEN']);
    }
    const fresh = await askForReset(p);
    p.t.clock.advance(60 * 60_000 - 1);
    expect((await reset(p, fresh)).status).toBe(200);
  });

  it('exactly one of many concurrent resets succeeds', async () => {
    const p = await person();
    const token = await askForReset(p);
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => reset(p, token, `${NEW} ${i}`)));
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(9).fill(401)]);
    const winner = all.findIndex((r) => r.status === 200);
    expect((await signIn(p, `${NEW} ${winner}`)).status).toBe(200);
  });

  it('calls users.validatePassword; the link stays valid after a refusal', async () => {
    const asked: unknown[] = [];
    const { box } = await shared();
    const t = await createTestService({
      config: { mail: { url: box.url } },
      validatePassword: (password, context) => {
        asked.push(context);
        return password === 'refused password' ? 'Not this one.' : true;
      },
    });
    const p = await signedUp({ t, box });
    const token = await askForReset(p);
    const refused = await reset(p, token, 'refused password');
    expect([refused.status, refused.body.error]).toEqual([
      422,
      { code: 'PASSWORD_REJECTED', message: 'Not this one.' },
    ]);
    expect((await change(p, { currentPassword: PASSWORD, newPassword: 'refused password' })).status).toBe(422);
    expect((await reset(p, token)).status).toBe(200);
    expect(asked).toEqual(
      [
        ['sign-up', null],
        ['reset', p.id],
        ['change', p.id],
        ['reset', p.id],
      ].map(([action, userId]) => ({ action, userId, email: p.email })),
    );
  });
});
