import { describe, expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { tokenIn } from '../../../test/support/mailbox.ts';
import {
  eventsAbout,
  expectForeignUrlsRefused,
  form,
  mailedToken,
  PASSWORD,
  type Person,
  signedUp,
  signIn,
  withMailbox,
} from '../../../test/support/people.ts';
import { createTestService } from '../../../test/support/service.ts';

const plain = withMailbox({ config: { http: { trustedOrigins: ['https://app.example.com'] } } });
const strict = withMailbox({ config: { users: { requireEmailVerification: true } } });
let count = 0;

const verify = (p: Person, token: string) => p.t.call('POST', '/verify-email', { body: { token } });

describe('POST /verify-email/send', () => {
  it('200, the same for an unverified, a verified and an unknown address; mails only the first', async () => {
    const p = await signedUp(await plain());
    const token = await mailedToken(p, '/verify-email/send');
    expect((await verify(p, token)).body).toEqual({ status: true });
    const again = await p.t.call('POST', '/verify-email/send', { body: { email: p.email } });
    const unknown = await p.t.call('POST', '/verify-email/send', { body: { email: 'nobody@example.com' } });
    expect([again.status, again.text, unknown.status, unknown.text]).toEqual([
      200,
      '{"status":true}',
      200,
      '{"status":true}',
    ]);
    await p.t.legate.platform.background.idle();
    await p.t.legate.platform.mailer.idle();
    expect(p.box.mails.filter((m) => m.to.includes(p.email))).toHaveLength(1);
    await expectForeignUrlsRefused(p, '/verify-email/send', { email: p.email });
  });
});

describe('/verify-email', () => {
  it('GET 200: a page with a button, which verifies nothing; POST verifies, once', async () => {
    const p = await signedUp(await plain());
    const token = await mailedToken(p, '/verify-email/send', { callbackURL: 'https://app.example.com/thanks' });
    const page = await p.t.call('GET', `/verify-email?token=${token}`);
    expect([page.status, page.text.includes(`value="${token}"`)]).toEqual([200, true]);
    const verified = async () => (await p.t.call('GET', '/auth/session', { as: p.session })).body.user.emailVerified;
    expect(await verified()).toBe(false);
    const sent = form({ token });
    const headers = { ...sent.headers, authorization: `Bearer ${p.session}` };
    const done = await p.t.call('POST', '/verify-email', { ...sent, headers });
    expect([done.status, done.headers.get('location'), done.headers.get('set-cookie')]).toEqual([
      303,
      'https://app.example.com/thanks',
      null,
    ]);
    expect(await verified()).toBe(true);
    expect((await verify(p, token)).body.error.code).toBe('INVALID_TOKEN');
    expect((await p.t.call('GET', `/verify-email?token=${token}`)).status).toBe(401);
    expect((await p.t.call('POST', '/verify-email', form({ token }))).status).toBe(401);
  });

  it('401 after 24 hours and for an unknown token', async () => {
    const p = await signedUp(await plain());
    const token = await mailedToken(p, '/verify-email/send');
    p.t.clock.advance(24 * 3_600_000);
    for (const bad of [token, '', 'x', '\ud800', await mailedToken(p, '/password/forgot')])
      expect((await verify(p, bad)).status).toBe(401);
  });
});

describe('where addresses must be verified', () => {
  const signUp = async (email: string, more: object = {}) =>
    (await strict()).t.call('POST', '/sign-up', { body: { email, password: PASSWORD, ...more } });
  const address = () => `strict${++count}@example.com`;

  it('sign-up has the same response for new, verified and unverified addresses; only the mails differ', async () => {
    const { t, box } = await strict();
    const email = address();
    const free = await signUp(email, { name: 'Ada' });
    const first = await box.next(email);
    const waiting = await signUp(email.toUpperCase(), { name: 'Eve', password: 'the password of Eve' });
    const second = await box.next(email);
    expect((await t.call('POST', '/verify-email', { body: { token: tokenIn(second) } })).status).toBe(200);
    const taken = await signUp(` ${email} `);
    const third = await box.next(email);
    const facts = (r: typeof free) => [
      r.status,
      r.text,
      [...r.headers].filter(([name]) => !['ratelimit', 'x-request-id'].includes(name)),
    ];
    expect(facts(free)).toEqual([200, '{"status":true}', expect.any(Array)]);
    expect([facts(waiting), facts(taken)]).toEqual([facts(free), facts(free)]);
    expect([first, second, third].map((m) => m.subject.split(' ').slice(0, 4).join(' '))).toEqual([
      'Confirm your e-mail address',
      'Confirm your e-mail address',
      'You already have an',
    ]);
    expect(tokenIn(third)).toBe('');
  });

  it('an earlier sign-up with somebody else’s address loses to the sign-up whose mail is opened', async () => {
    const { t, box } = await strict();
    const email = address();
    const signIn = (password: string) => t.call('POST', '/sign-in', { body: { email, password } });
    await signUp(email, { name: 'Eve', password: 'the password of Eve' });
    const older = tokenIn(await box.next(email));
    // The account is from before addresses had to be verified.
    const before = await createTestService({ sameDatabaseAs: t });
    const session = (await before.call('POST', '/sign-in', { body: { email, password: 'the password of Eve' } })).body
      .token;
    expect((await t.call('GET', '/auth/sessions', { as: session })).status).toBe(200);
    await signUp(email, { name: 'Ada' });
    const opened = tokenIn(await box.next(email));
    expect((await t.call('POST', '/verify-email', { body: { token: opened } })).status).toBe(200);
    expect((await t.call('GET', '/auth/sessions', { as: session })).status).toBe(401);
    expect((await signIn('the password of Eve')).status).toBe(401);
    expect((await signIn(PASSWORD)).body.user).toMatchObject({ name: 'Ada', emailVerified: true });
    expect((await t.call('POST', '/verify-email', { body: { token: older } })).status).toBe(401);
    expect((await signIn(PASSWORD)).status).toBe(200);
  });

  it('a link does not set the password again that was changed after it was mailed', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email);
    const mailed = [tokenIn(await box.next(email))];
    // The account is from before addresses had to be verified.
    const before = await createTestService({ sameDatabaseAs: t });
    const { token: session } = (await before.call('POST', '/sign-in', { body: { email, password: PASSWORD } })).body;
    await t.call('POST', '/verify-email/send', { body: { email } });
    mailed.push(tokenIn(await box.next(email)));
    const body = { currentPassword: PASSWORD, newPassword: 'a better horse battery' };
    expect((await t.call('POST', '/password/change', { as: session, body })).status).toBe(200);
    for (const token of mailed) expect((await t.call('POST', '/verify-email', { body: { token } })).status).toBe(401);
    expect((await t.call('POST', '/sign-in', { body: { email, password: PASSWORD } })).status).toBe(401);
  });

  it('403 EMAIL_NOT_VERIFIED with the right password, 401 with a wrong one', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email);
    const token = tokenIn(await box.next(email));
    const right = await t.call('POST', '/sign-in', { body: { email, password: PASSWORD } });
    expect([right.status, right.body.error.code, right.headers.get('set-cookie')]).toEqual([
      403,
      'EMAIL_NOT_VERIFIED',
      null,
    ]);
    expect((await t.call('POST', '/sign-in', { body: { email, password: 'wrong horse' } })).status).toBe(401);
    await t.call('POST', '/verify-email', { body: { token } });
    expect((await t.call('POST', '/sign-in', { body: { email, password: PASSWORD } })).body.user.emailVerified).toBe(
      true,
    );
  });

  it('a magic link verifies the address too', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email);
    await box.next(email);
    await t.call('POST', '/magic-link', { body: { email } });
    expect(
      (await t.call('POST', '/magic-link/verify', { body: { token: tokenIn(await box.next(email)) } })).body.user
        .emailVerified,
    ).toBe(true);
  });

  it('one of 20 concurrent sign-ups creates the account, and all get the same response', async () => {
    const { t } = await strict();
    const email = address();
    const all = await Promise.all(Array.from({ length: 20 }, () => signUp(email)));
    expect(new Set(all.map((r) => `${r.status} ${r.text}`))).toEqual(new Set(['200 {"status":true}']));
    expect(
      await t.legate.platform.database.read.selectFrom('users').select('id').where('email_key', '=', email).execute(),
    ).toHaveLength(1);
  });

  it('takes the same processor time for a used and an unused address', async () => {
    const { t } = await strict();
    const taken = address();
    await signUp(taken);
    const time = async (email: string): Promise<number> => {
      const spent = cpuTimer();
      await signUp(email);
      const ms = spent();
      // The mail that follows must not count in the next sign-up.
      await t.legate.platform.background.idle();
      return ms;
    };
    const times = { free: [] as number[], taken: [] as number[] };
    for (let i = 0; i < 15; i++) {
      times.free.push(await time(address()));
      times.taken.push(await time(taken));
    }
    const median = (all: number[]): number => all.sort((a, b) => a - b)[7] as number;
    expect(median(times.taken) / median(times.free)).toBeGreaterThan(0.4);
    expect(median(times.taken) / median(times.free)).toBeLessThan(2.5);
  });

  it('does not start in production without mail.url', async () => {
    await expect(
      createTestService({
        production: true,
        config: { users: { requireEmailVerification: true, signUp: 'open' } },
      }),
    ).rejects.toThrow('LEGATE_MAIL_URL');
  });

  it('informs the owner of the address about the attempt', async () => {
    const p = await signedUp(await plain());
    await signIn(p, 'wrong horse battery');
    expect((await eventsAbout(p, 'auth.failed')).at(-1)?.data).toMatchObject({
      method: 'password',
      reason: 'INVALID_EMAIL_OR_PASSWORD',
      userId: p.id,
    });
  });
});
