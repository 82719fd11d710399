import { beforeEach, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { ask, authorizePath, register } from '../../../test/support/oauth.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import type { Mail } from '../../operations/mail/index.ts';
import { createSetupLink } from '../setup/setup-link.ts';
import { ensureFirstAdmin } from '../users/index.ts';

const password = 'correct horse battery';
const mails: Mail[] = [];
let service: Promise<TestService> | undefined;
let t: TestService;
let people = 0;
let email = '';
beforeEach(async () => {
  service ??= createTestService({ lasting: true, printMail: (mail) => void mails.push(mail) });
  t = await service;
  email = `walker${++people}@example.com`;
});

async function signedIn(headers: Record<string, string> = {}): Promise<FormClient> {
  await t.call('POST', '/sign-up', { body: { email, password } });
  const browser = new FormClient(t, headers);
  await browser.post('/account/sign-in', { email, password });
  return browser;
}
const linksIn = (text: string): string[] => [...text.matchAll(/<a [^>]*href="([^"]+)"/g)].map((m) => m[1] as string);
const mainOf = (text: string): string => text.slice(text.indexOf('<main>'), text.indexOf('</main>'));

describe('GET /', () => {
  it('200 for a browser: explains the service and links to sign-in and sign-up', async () => {
    const r = await new FormClient(t).get('/');
    expect(r.status).toBe(200);
    expect(linksIn(mainOf(r.text))).toEqual(['/account/sign-in', '/account/sign-up', '/docs', '/health/ready']);
    expect(r.text).not.toMatch(/<script|style=| on[a-z]+=/);
  });

  it('says how to become the administrator as long as there is none, in development only', async () => {
    const hint = 'npx legate admin create';
    const fresh = await createTestService();
    // An application that embeds the service may have administrators of its own.
    expect(mainOf((await new FormClient(fresh).get('/')).text)).not.toContain(hint);
    await createSetupLink(fresh.legate.platform);
    expect(mainOf((await new FormClient(fresh).get('/')).text)).toContain(hint);
    await fresh.user();
    expect(mainOf((await new FormClient(fresh).get('/')).text)).toContain(hint);
    await fresh.admin();
    const production = await createTestService({ production: true });
    await createSetupLink(production.legate.platform);
    for (const one of [fresh, production])
      expect(mainOf((await new FormClient(one).get('/')).text)).not.toContain(hint);
  });

  it('200 for a signed-in person: shows their address, and links to the account and sign-out', async () => {
    const r = await (await signedIn()).get('/');
    expect(linksIn(mainOf(r.text))).toEqual(['/console', '/account', '/docs', '/health/ready']);
    expect(r.text).toContain(`<span>${email}</span><form method="post" action="/account/sign-out"`);
  });

  it('404 as JSON for a program', async () => {
    for (const accept of [undefined, '*/*', 'application/json']) {
      const r = await t.call('GET', '/', { headers: accept === undefined ? {} : { accept } });
      expect([r.status, r.body.error.code]).toEqual([404, 'NOT_FOUND']);
    }
  });

  it('offers no sign-up if it is closed, and is at the mount of the pages', async () => {
    const other = await createTestService({ config: { users: { signUp: 'closed' }, http: { restPath: '/legate' } } });
    const r = await new FormClient(other).get('/legate/');
    expect(linksIn(r.text)).toEqual(expect.arrayContaining(['/legate/', '/legate/account/sign-in', '/legate/docs']));
    expect(r.text).not.toContain('sign-up');
  });
});

describe('GET /account', () => {
  it('200: shows the signed-in person, the pages of the account, and sign-out', async () => {
    const browser = await signedIn();
    for (const [path, current] of [
      ['/account', 'Account'],
      ['/account/devices', 'Devices'],
      ['/account/apps', 'Applications'],
    ] as const) {
      const r = await browser.get(path);
      expect(r.status).toBe(200);
      expect(r.text).toContain(`<span>${email}</span><form method="post" action="/account/sign-out"`);
      expect(r.text).toContain(`href="${path}" aria-current="page">${current}</a>`);
      expect(linksIn(r.text)).toEqual(expect.arrayContaining(['/', '/account', '/account/devices', '/account/apps']));
    }
    expect((await browser.post('/account/sign-out', {})).headers.get('location')).toBe(
      '/account/sign-in?done=signed-out',
    );
    expect((await browser.get('/account')).headers.get('location')).toBe('/account/sign-in?returnTo=%2Faccount');
  });

  it('asks a person to verify the address only if it is unverified', async () => {
    const browser = await signedIn();
    expect(linksIn(mainOf((await browser.get('/account')).text))).toContain('/account/verify-email');
    await t.call('POST', '/verify-email/send', { body: { email } });
    await t.legate.platform.background.idle();
    const token = new URL(mails.at(-1)?.link ?? '').searchParams.get('token') ?? '';
    await browser.post('/verify-email', { token });
    const page = await browser.get('/account');
    expect(page.status).toBe(200);
    expect(linksIn(mainOf(page.text))).toEqual([
      '/console',
      '/account/devices',
      '/account/two-factor',
      '/account/passkeys',
      '/account/connections',
      '/account/password',
      '/account/tokens',
      '/account/apps',
    ]);
  });

  it('shows no sign-out button to a user of the embedding application', async () => {
    const other = await createTestService({ authenticate: () => ({ userId: 'ext-<1>' }) });
    const r = await new FormClient(other).get('/account');
    expect(r.text).toContain('ext-&lt;1&gt;');
    expect(r.text).not.toContain('/account/sign-out');
  });
});

describe('every page has a next step', () => {
  it('an invalid link leads to a new one', async () => {
    for (const [path, next] of [
      ['/magic-link/verify', '/account/magic-link'],
      ['/verify-email', '/account/verify-email'],
      ['/password/reset', '/account/forgot-password'],
    ] as const) {
      const browser = new FormClient(t);
      const fields = path === '/password/reset' ? { token: 'x', newPassword: password } : { token: 'x' };
      for (const r of [await browser.get(`${path}?token=x`), await browser.post(path, fields)]) {
        expect(r.status).toBe(401);
        expect(linksIn(mainOf(r.text))).toEqual([next]);
      }
    }
  });

  it('the page after a used link has a next step', async () => {
    await signedIn();
    const use = async (ask: string, path: string, more: Record<string, string> = {}) => {
      await t.call('POST', ask, { body: { email } });
      await t.legate.platform.background.idle();
      const token = new URL(mails.at(-1)?.link ?? '').searchParams.get('token') ?? '';
      return linksIn(mainOf((await new FormClient(t).post(path, { token, ...more })).text));
    };
    expect(await use('/verify-email/send', '/verify-email')).toEqual(['/account/forgot-password']);
    expect(await use('/magic-link', '/magic-link/verify')).toEqual(['/account']);
    expect(await use('/password/forgot', '/password/reset', { newPassword: password })).toEqual(['/account/sign-in']);
  });

  it('the set-up page links to the console and the account, and error pages link to the start', async () => {
    const other = await createTestService();
    const first = await ensureFirstAdmin(other.legate.platform);
    const url = new URL(first.kind === 'setupLink' ? first.url : '');
    const token = url.searchParams.get('token') ?? '';
    const browser = new FormClient(other);
    const done = await browser.post('/setup', { token, email, password });
    expect(linksIn(mainOf(done.text))).toEqual(['/console', '/account']);
    expect((await browser.get('/account')).status).toBe(200);
    const used = await browser.get(`/setup?token=${token}`);
    expect([used.status, linksIn(mainOf(used.text))]).toEqual([410, ['/']]);
  });

  it('an unknown address is a page with a link to the start for a browser, and JSON for a program', async () => {
    const browser = new FormClient(t);
    for (const r of [await browser.get('/no/such/page'), await browser.post('/no/such/page', { x: '1' })]) {
      expect([r.status, r.headers.get('content-type'), r.headers.get('cache-control')]).toEqual([
        404,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(linksIn(mainOf(r.text))).toEqual(['/']);
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const r of [
      await t.call('GET', '/no/such/page'),
      await t.call('GET', '/no/such/page', { headers: { accept: '*/*' } }),
      await t.call('POST', '/no/such/page', { raw: 'x=1', headers: form }),
    ])
      expect([r.status, r.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('a page that sent a mail has a link back', async () => {
    const browser = new FormClient(t);
    for (const path of ['/account/magic-link', '/account/forgot-password', '/account/verify-email'])
      expect(linksIn(mainOf((await browser.post(path, { email })).text))).toEqual(['/account/sign-in']);
  });
});

describe('a sign-in for an authorization request', () => {
  it('names the waiting application on sign-in and sign-up, if it is known', async () => {
    const client = await register(t, { client_name: 'Notes <b>' });
    const browser = new FormClient(t);
    const shown = async (path: string, to: string): Promise<boolean> =>
      (await browser.get(`${path}?returnTo=${encodeURIComponent(to)}`)).text.includes('“Notes &lt;b&gt;” is waiting');
    const asked = authorizePath(ask(client));
    const led = await browser.get(asked);
    expect((await browser.get(led.headers.get('location') ?? '')).text).toContain('“Notes &lt;b&gt;” is waiting');
    for (const path of ['/account/sign-in', '/account/sign-up']) {
      expect(await shown(path, asked)).toBe(true);
      expect(await shown(path, `/api/legate${asked}`)).toBe(true);
      expect(await shown(path, `/docs?client_id=${client.client_id}`)).toBe(false);
      expect(await shown(path, '/oauth/authorize?client_id=unknown')).toBe(false);
      expect(await shown(path, '/oauth/authorize?client_id=%00')).toBe(false);
      expect(await shown(path, '/oauth/authorize?client_id=https://nobody.example/x')).toBe(false);
    }
  });

  it('is in the language of the request, unless the person chose another one', async () => {
    const client = await register(t);
    const asked = authorizePath(ask(client, { ui_locales: 'fr-CA de-AT en' }));
    const language = async (browser: FormClient, path: string) =>
      (await browser.get(path)).headers.get('content-language');
    const browser = new FormClient(t);
    const signInPath = (await browser.get(asked)).headers.get('location') ?? '';
    expect(await language(browser, signInPath)).toBe('de');
    const english = new FormClient(t, { 'accept-language': 'en-GB' });
    expect(await language(english, signInPath)).toBe('de');
    expect(await language(english, `${signInPath}&lang=en`)).toBe('en');
    expect(await language(english, signInPath)).toBe('en');
    const person = await signedIn({ 'accept-language': 'en' });
    const consent = await person.get((await person.get(asked)).headers.get('location') ?? '');
    expect([consent.status, consent.headers.get('content-language')]).toEqual([200, 'de']);
  });
});

describe('times', () => {
  it.each([
    ['en-GB,en;q=0.8', '15 Jan 2030, '],
    ['en-US', 'Jan 15, 2030, '],
    ['en', 'Jan 15, 2030, '],
    ['fr,en-AU;q=0.5', '15 Jan 2030, '],
    ['de-AT,en-GB', '15.01.2030, '],
  ])('have the format of the region of %s', async (accepted, written) => {
    t.clock.set('2030-01-15T13:10:00.000Z');
    const browser = await signedIn({ 'accept-language': accepted });
    const text = (await browser.get('/account/devices')).text;
    expect(/<time[^>]*>[^<]*?(\d[^<]*|[A-Z][a-z]{2} \d[^<]*)<\/time>/.exec(text)?.[0]).toContain(written);
  });
});
