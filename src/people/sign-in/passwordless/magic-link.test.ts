import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import { type ReceivedMail, tokenIn } from '../../../../test/support/mailbox.ts';
import {
  enableTotp,
  eventsAbout,
  expectForeignUrlsRefused,
  form,
  isSignedIn,
  knownBrowser,
  mailedToken,
  PASSWORD,
  type Person,
  signedUp,
  verified,
  withMailbox,
} from '../../../../test/support/people.ts';
import { createTestService } from '../../../../test/support/service.ts';

const shared = withMailbox({ config: { http: { trustedOrigins: ['https://app.example.com'] } } });
const person = async (): Promise<Person> => signedUp(await shared());

const useLink = (p: Person, token: string) => p.t.call('POST', '/magic-link/verify', { body: { token } });

describe('POST /magic-link', () => {
  it('200: the same with and without an account, and mail only to existing accounts', async () => {
    const p = await person();
    const known = await p.t.call('POST', '/magic-link', { body: { email: p.email.toUpperCase() } });
    const unknown = await p.t.call('POST', '/magic-link', { body: { email: 'nobody@example.com' } });
    const withoutRateLimit = (r: typeof known) =>
      [...r.headers].filter(([name]) => !/^(ratelimit|x-request-id)/.test(name));
    expect([known.status, known.text, withoutRateLimit(known)]).toEqual([
      200,
      '{"status":true}',
      withoutRateLimit(unknown),
    ]);
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
    const mail = await p.box.next(p.email);
    expect(mail.subject).toBe(`Sign in to ${p.t.database.name.replace(/^./, (c) => c.toUpperCase())}`);
    expect(mail.text).toContain(`http://localhost:3000/magic-link/verify?token=${tokenIn(mail)}`);
    await p.t.legate.platform.background.idle();
    expect(p.box.mails.flatMap((m) => m.to)).not.toContain('nobody@example.com');
  });

  it('writes in the language of the request', async () => {
    const p = await person();
    await p.t.call('POST', '/magic-link', {
      body: { email: p.email },
      headers: { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' },
    });
    expect((await p.box.next(p.email)).subject).toMatch(/^Anmelden bei/);
  });

  it('sends to the address of the account, not to a look-alike in the request', async () => {
    const p = await person();
    const typed = p.email.replace('person', 'ｐｅｒｓｏｎ');
    await p.t.call('POST', '/magic-link', { body: { email: typed } });
    expect((await p.box.next(p.email)).to).toEqual([p.email]);
  });

  it('keeps at most ten links valid: a new one replaces the oldest', async () => {
    const p = await person();
    const tokens: string[] = [];
    for (let i = 0; i < 12; i++) {
      p.t.clock.advance(1);
      await p.t.call('POST', '/magic-link', { body: { email: p.email } });
      tokens.push(tokenIn(await p.box.next(p.email)));
    }
    const shown: number[] = [];
    for (const token of tokens) shown.push((await p.t.call('GET', `/magic-link/verify?token=${token}`)).status);
    expect(shown).toEqual([401, 401, ...Array(10).fill(200)]);
  });

  it('sends at most 30 links an hour to a mailbox, and new ones in the next hour', async () => {
    const p = await person();
    const requestLinks = async (n: number): Promise<number> => {
      for (let i = 0; i < n; i++) await p.t.call('POST', '/magic-link', { body: { email: p.email } });
      await p.t.legate.platform.background.idle();
      await p.t.legate.platform.mailer.idle();
      return p.box.mails.filter((m) => m.to.includes(p.email)).length;
    };
    expect(await requestLinks(32)).toBe(30);
    p.t.clock.advance(59 * 60_000);
    expect(await requestLinks(1)).toBe(30);
    p.t.clock.advance(60_000);
    expect(await requestLinks(1)).toBe(31);
  });

  it.each(['/magic-link', '/password/forgot'])(
    '%s: others cannot use up the links of a known browser',
    async (path) => {
      const p = await person();
      const request = async (n: number, cookie = ''): Promise<number> => {
        const before = p.box.mails.filter((m) => m.to.includes(p.email)).length;
        for (let i = 0; i < n; i++) {
          p.t.clock.advance(1);
          await p.t.call('POST', path, { body: { email: p.email }, headers: { cookie } });
        }
        await p.t.legate.platform.background.idle();
        await p.t.legate.platform.mailer.idle();
        return p.box.mails.filter((m) => m.to.includes(p.email)).length - before;
      };
      const known = await knownBrowser(p);
      expect(await request(1, known)).toBe(1);
      const token = tokenIn(p.box.mails.findLast((m) => m.to.includes(p.email)) as ReceivedMail);
      expect(await request(40)).toBe(30);
      // The links of others neither replace those of the known browser nor count for it.
      const shown = path === '/magic-link' ? `/magic-link/verify?token=${token}` : `/password/reset?token=${token}`;
      expect((await p.t.call('GET', shown)).status).toBe(200);
      expect(await request(31, known)).toBe(29);
      expect(await request(1, await knownBrowser(await person()))).toBe(0);
    },
  );

  it('400 for an invalid address, and for a callbackURL on another origin', async () => {
    const p = await person();
    for (const email of [
      '',
      'x',
      'a@b',
      'a\u0000@example.com',
      'a@example.com\r\nBcc: b@example.com',
      'a@example.com,b@example.com',
    ]) {
      const r = await p.t.call('POST', '/magic-link', { body: { email } });
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, 'email']);
    }
    await expectForeignUrlsRefused(p, '/magic-link', { email: p.email });
  });

  it('503 in production without mail.url; in development the link is printed', async () => {
    const printed: { to: string; link?: string | undefined; code?: string | undefined }[] = [];
    const [production, development] = [
      await createTestService({ production: true }),
      await createTestService({ printMail: (mail) => printed.push(mail) }),
    ];
    for (const path of ['/magic-link', '/email-otp', '/password/forgot', '/verify-email/send']) {
      const r = await production.call('POST', path, { body: { email: 'ada@example.com' } });
      expect([path, r.status, r.body.error.code]).toEqual([path, 503, 'MAIL_NOT_CONFIGURED']);
    }
    await development.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: PASSWORD } });
    await development.call('POST', '/magic-link', { body: { email: 'ada@example.com' } });
    await development.call('POST', '/email-otp', { body: { email: 'ada@example.com' } });
    await development.legate.platform.background.idle();
    expect(printed.map(({ to }) => to)).toEqual(['ada@example.com', 'ada@example.com']);
    const token = new URL(printed.find((m) => m.link)?.link ?? '').searchParams.get('token');
    expect((await development.call('POST', '/magic-link/verify', { body: { token } })).status).toBe(200);
    expect(printed.find((m) => m.code)?.code).toMatch(/^\d{6}$/);
  });
});

describe('GET /magic-link/verify', () => {
  it('200: a page with one button; opening it does not use up the link', async () => {
    const p = await person();
    const token = await mailedToken(p, '/magic-link', { callbackURL: 'https://app.example.com/in?a=b' });
    for (let i = 0; i < 3; i++) {
      const r = await p.t.call('GET', `/magic-link/verify?token=${token}`);
      expect(r.status).toBe(200);
      expect(r.headers.get('set-cookie')).toBeNull();
      expect(r.headers.get('referrer-policy')).toBe('no-referrer');
      expect(r.headers.get('content-security-policy')).toContain("form-action 'self' https://app.example.com;");
      expect(r.text).toContain(`<input type="hidden" name="token" value="${token}">`);
    }
    expect((await p.t.call('HEAD', `/magic-link/verify?token=${token}`)).status).toBe(200);
    expect((await useLink(p, token)).status).toBe(200);
  });

  it('401 with a page for an invalid link', async () => {
    const p = await person();
    for (const query of ['', '?token=', '?token=%3Cscript%3E', `?token=lgo_${'x'.repeat(49)}`, `?token=${p.session}`]) {
      const r = await p.t.call('GET', `/magic-link/verify${query}`);
      expect([r.status, r.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
      expect(r.text).not.toContain('<form method="post"');
    }
  });
});

describe('POST /magic-link/verify', () => {
  it('200: signs in and verifies the address', async () => {
    const p = await person();
    const r = await useLink(p, await mailedToken(p, '/magic-link'));
    expect(r.status).toBe(200);
    expect(r.body).toEqual({
      token: expect.stringMatching(/^lgs_/),
      user: expect.objectContaining({ id: p.id, emailVerified: true }),
    });
    expect(r.headers.get('set-cookie')).toContain(`_session=${r.body.token};`);
    expect(await isSignedIn(p, r.body.token)).toBe(true);
    expect((await eventsAbout(p, 'auth.signin')).at(-1)?.data).toMatchObject({
      method: 'magic-link',
      ipAddress: '192.0.2.1',
    });
  });

  it('303 for the form: sets the cookie and redirects to callbackURL; without one it shows a page', async () => {
    const p = await person();
    const on = await p.t.call(
      'POST',
      '/magic-link/verify',
      form({ token: await mailedToken(p, '/magic-link', { callbackURL: '/somewhere?a=b' }) }),
    );
    expect([on.status, on.headers.get('location')]).toEqual([303, 'http://localhost:3000/somewhere?a=b']);
    const cookie = on.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await p.t.call('GET', '/auth/session', { headers: { cookie } })).body.user.id).toBe(p.id);
    const page = await p.t.call('POST', '/magic-link/verify', form({ token: await mailedToken(p, '/magic-link') }));
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('set-cookie')).toContain('_session=lgs_');
  });

  it('refuses a form of another site, which would sign a visitor in as somebody else', async () => {
    const p = await person();
    const token = await mailedToken(p, '/magic-link');
    const sent = form({ token });
    const r = await p.t.call('POST', '/magic-link/verify', {
      ...sent,
      headers: { ...sent.headers, origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
    });
    expect([r.status, r.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await useLink(p, token)).status).toBe(200);
  });

  it('exactly one of 50 concurrent requests signs in', async () => {
    const p = await person();
    const token = await mailedToken(p, '/magic-link');
    const all = await Promise.all(Array.from({ length: 50 }, () => useLink(p, token)));
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(49).fill(401)]);
    expect(await eventsAbout(p, 'auth.signin')).toHaveLength(2);
  });

  it('401 after 5 minutes, after use, for a link of another kind and other text; JSON for a JSON request', async () => {
    const p = await person();
    const token = await mailedToken(p, '/magic-link');
    const reset = await mailedToken(p, '/password/forgot');
    p.t.clock.advance(5 * 60_000);
    for (const bad of [token, reset, '', 'x', '\u0000', p.session]) {
      const r = await useLink(p, bad);
      expect([r.status, r.body.error.code, r.headers.get('set-cookie')]).toEqual([401, 'INVALID_TOKEN', null]);
    }
    const page = await p.t.call('POST', '/magic-link/verify', form({ token }));
    expect([page.status, page.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
    const fresh = await mailedToken(p, '/magic-link');
    p.t.clock.advance(5 * 60_000 - 1);
    expect((await useLink(p, fresh)).status).toBe(200);
  });

  it('redirects to callbackURL after the second step too, also on a trusted origin', async () => {
    const p = await verified(await person());
    const secret = await enableTotp(p);
    for (const callbackURL of ['https://app.example.com/in?x=1', 'http://localhost:3000/docs']) {
      const token = await mailedToken(p, '/magic-link', { callbackURL });
      const browser = new FormClient(p.t);
      const first = await browser.post('/magic-link/verify', { token });
      const at = first.headers.get('location') as string;
      expect(at).toMatch(/^\/account\/second-factor/);
      const { origin } = new URL(callbackURL);
      const policy = (await browser.get(at)).headers.get('content-security-policy');
      expect(policy?.includes(origin)).toBe(origin.startsWith('https:'));
      const code = generateSync({ secret, epoch: p.t.clock.now() / 1000 });
      p.t.clock.advance(30_000);
      const last = await browser.post(at, { code });
      const target = new URL(last.headers.get('location') as string, 'http://localhost:3000').href;
      expect([last.status, target]).toEqual([303, callbackURL]);
    }
  });

  it('is only the first step of a sign-in with a second factor', async () => {
    const p = await verified(await person());
    const secret = await enableTotp(p);
    const first = await useLink(p, await mailedToken(p, '/magic-link'));
    expect(first.body).toEqual({
      twoFactorRequired: true,
      twoFactorMethods: ['totp'],
      twoFactorToken: expect.any(String),
    });
    expect(first.headers.get('set-cookie')).toBeNull();
    const code = generateSync({ secret, epoch: p.t.clock.now() / 1000 });
    expect(
      (await p.t.call('POST', '/totp/verify', { body: { code, twoFactorToken: first.body.twoFactorToken } })).status,
    ).toBe(200);
    expect((await eventsAbout(p, 'auth.signin')).at(-1)?.data.method).toBe('magic-link+totp');
    const page = await p.t.call(
      'POST',
      '/magic-link/verify',
      form({ token: await mailedToken(p, '/magic-link', { callbackURL: '/x' }) }),
    );
    expect([page.status, page.headers.get('location')]).toEqual([303, '/account/second-factor?returnTo=%2Fx']);
    expect(page.headers.get('set-cookie')).toMatch(/_second_step=lgo_/);
    expect(page.headers.get('set-cookie')).not.toContain('_session=');
  });
});
