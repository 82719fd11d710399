import { createHash } from 'node:crypto';
import { generate } from 'otplib';
import { beforeEach, describe, expect, it } from 'vitest';
import { FormClient, problemsIn } from '../../../test/support/browser-like.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { modules } from '../../modules.ts';
import { en } from '../../pages/texts/en.ts';

const password = 'correct horse battery';
const HOME = '/account';
const DEVICES = '/account/devices';
let service: Promise<TestService> | undefined;
let t: TestService;
let people = 0;
let email = '';
beforeEach(async () => {
  service ??= createTestService({ lasting: true });
  t = await service;
  email = `person${++people}@example.com`;
});

const signUp = async (): Promise<string> =>
  (await t.call('POST', '/sign-up', { body: { email, password } })).body.token;
async function signedIn(headers?: Record<string, string>): Promise<FormClient> {
  const browser = new FormClient(t, headers);
  t.clock.advance(1);
  const r = await browser.post('/account/sign-in', { email, password, rememberMe: 'on' });
  expect([r.status, r.headers.get('location')]).toEqual([303, HOME]);
  return browser;
}

it('every error of a page has a text in the catalogue', () => {
  const codes = modules.flatMap((m) =>
    (m.routes ?? []).filter((route) => route.page).flatMap((route) => (route.errors ?? []).map((error) => error.code)),
  );
  // The pages of the authorization server have their own texts for these codes.
  expect([...new Set(codes)].filter((code) => !Object.hasOwn(en.codes, code))).toEqual([
    'AUTHORIZATION_REQUEST_INVALID',
    'CONSENT_TOKEN_INVALID',
    'CONSENT_ALREADY_GIVEN',
  ]);
});

describe('GET /account/sign-in', () => {
  it('200: a form that works without scripts and posts to its address; the only script is for passkeys', async () => {
    const r = await new FormClient(t).get('/account/sign-in?returnTo=%2Fdocs');
    expect(r.status).toBe(200);
    expect(r.text).toMatch(/<form method="post" action="\/account\/sign-in\?returnTo=%2Fdocs" novalidate>/);
    expect(r.text).toContain('autocomplete="current-password"');
    expect(r.text).toContain('href="/account/sign-up?returnTo=%2Fdocs"');
    const [, script = '', ...others] = r.text.split(/<script>|<\/script>/);
    expect(others).toHaveLength(1);
    const source = `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
    expect(r.headers.get('content-security-policy')).toContain(`script-src ${source}; connect-src 'self';`);
    expect(r.text.replace(script, '').replace('<script>', '')).not.toMatch(/<script|style=| on[a-z]+=/);
  });

  it('a signed-in person can continue, or sign in as somebody else', async () => {
    await signUp();
    const browser = await signedIn();
    const page = (await browser.get('/account/sign-in?returnTo=%2Fdocs')).text;
    expect(page).toContain(`href="/docs">Continue as ${email}</a>`);
    expect(page).toContain('name="password"');
    await browser.post('/account/sign-out', {});
    expect((await browser.get('/account/sign-in')).text).not.toContain(email);
  });

  it('is in German on request', async () => {
    expect((await new FormClient(t, { 'accept-language': 'de-AT' }).get('/account/sign-in')).text).toContain(
      '<h1>Anmelden</h1>',
    );
  });

  it('lets the form redirect to the redirect_uri of an authorization request, only to valid addresses', async () => {
    const policy = async (redirectUri: string): Promise<string> => {
      const returnTo = `/api/legate/oauth/authorize?redirect_uri=${encodeURIComponent(redirectUri)}`;
      return (
        (await t.call('GET', `/account/sign-in?returnTo=${encodeURIComponent(returnTo)}`)).headers.get(
          'content-security-policy',
        ) ?? ''
      );
    };
    expect(await policy('http://127.0.0.1:7777/cb')).toContain("form-action 'self' http://127.0.0.1:7777;");
    for (const odd of ["https://a';script-src", 'https://a;sandbox', 'https://a,b'])
      expect(await policy(`${odd}/cb`)).toMatch(/form-action 'self'( https:)?;/);
    for (const bad of ['javascript:alert(1)', 'data:text/html,x', "x'; script-src *", ''])
      expect(await policy(bad)).toContain("form-action 'self';");
  });
});

describe('POST /account/sign-in', () => {
  it('303 to the account, with the cookie', async () => {
    await signUp();
    const browser = await signedIn();
    const page = await browser.get(DEVICES);
    expect([page.status, page.text.includes('This device')]).toEqual([200, true]);
  });

  it('303 to the page that was requested, and never to another origin', async () => {
    await signUp();
    const go = async (returnTo: string): Promise<string | null> =>
      (
        await new FormClient(t).post(`/account/sign-in?returnTo=${encodeURIComponent(returnTo)}`, { email, password })
      ).headers.get('location');
    expect(await go('/docs?x=1#y')).toBe('/docs?x=1#y');
    for (const elsewhere of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'javascript:alert(1)',
    ])
      expect(await go(elsewhere)).toBe(HOME);
  });

  it('the cookie ends with the browser session when the person is not to be remembered', async () => {
    await signUp();
    const cookie = async (fields: Record<string, string>): Promise<string | undefined> =>
      (await new FormClient(t).post('/account/sign-in', { email, password, ...fields })).headers.getSetCookie()[0];
    expect(await cookie({})).not.toContain('Max-Age');
    expect(await cookie({ rememberMe: 'on' })).toContain('Max-Age=2592000');
  });

  it('401: shows the page again with the input except the password', async () => {
    await signUp();
    const r = await new FormClient(t).post('/account/sign-in', { email, password: 'not the "right" one' });
    expect(r.status).toBe(401);
    expect(problemsIn(r.text)).toEqual(['The e-mail address or the password is wrong.']);
    expect(r.text).toContain('<title>Error: Sign in');
    expect(r.text).toContain(`value="${email}"`);
    expect(r.text).not.toContain('not the ');
    expect(r.headers.getSetCookie()).toEqual([]);
  });

  it('401 as JSON for a program', async () => {
    const r = await t.call('POST', '/account/sign-in', { body: { email, password } });
    expect([r.status, r.body.error.code]).toEqual([401, 'INVALID_EMAIL_OR_PASSWORD']);
  });

  it('403 for a form of another site, without a sign-in', async () => {
    await signUp();
    const browser = new FormClient(t);
    const r = await browser.post(
      '/account/sign-in',
      { email, password },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    );
    expect([r.status, browser.cookies.size]).toEqual([403, 0]);
    expect(r.text).toContain('another site');
  });

  it('429 on a page; the form and POST /sign-in share one counter', async () => {
    const other = await createTestService({
      config: { rateLimit: { endpoints: { signIn: { limit: 10, window: 60 } } } },
    });
    for (let i = 0; i < 5; i++) await other.call('POST', '/sign-in', { body: { email, password } });
    const browser = new FormClient(other, { 'accept-language': 'de' });
    for (let i = 0; i < 5; i++) expect((await browser.post('/account/sign-in', { email, password })).status).toBe(401);
    const r = await browser.post('/account/sign-in', { email, password });
    expect([r.status, r.headers.get('retry-after')]).toEqual([429, '60']);
    expect(r.text).toContain('Bitte warten Sie 60 Sekunden');
    expect((await other.call('POST', '/sign-in', { body: { email, password } })).status).toBe(429);
  });
});

describe('the second step', () => {
  async function withTotp(): Promise<string> {
    const as = await signUp();
    const { secret } = (await t.call('POST', '/totp/enable', { as, body: { password } })).body;
    expect((await t.call('POST', '/totp/verify', { as, body: { code: await code(secret) } })).status).toBe(200);
    t.clock.advance(60_000);
    return secret;
  }
  const code = (secret: string): Promise<string> => generate({ secret, epoch: Math.floor(t.clock.now() / 1000) });

  it('follows the first step, continues to the requested page, and can trust the device', async () => {
    const secret = await withTotp();
    const browser = new FormClient(t);
    const first = await browser.post('/account/sign-in?returnTo=%2Fdocs', { email, password });
    expect([first.status, first.headers.get('location'), [...browser.cookies.keys()]]).toEqual([
      303,
      '/account/second-factor?returnTo=%2Fdocs',
      [expect.stringContaining('_second_step')],
    ]);
    expect((await browser.get('/account/second-factor?returnTo=%2Fdocs')).text).toContain(
      'autocomplete="one-time-code"',
    );
    const wrong = await browser.post('/account/second-factor?returnTo=%2Fdocs', { code: '000000' });
    expect([wrong.status, problemsIn(wrong.text)]).toEqual([401, ['This code is wrong or has already been used.']]);
    const digits = await code(secret);
    const right = await browser.post('/account/second-factor?returnTo=%2Fdocs', {
      code: `${digits.slice(0, 3)} ${digits.slice(3)}`,
      trustDevice: 'on',
    });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/docs']);
    expect([...browser.cookies.keys()].join()).not.toContain('second_step');
    expect((await browser.get(DEVICES)).status).toBe(200);
    const again = await browser.post('/account/sign-in', { email, password });
    expect(again.headers.get('location')).toBe(HOME);
  });

  it('without a first step, or after five wrong codes: the person starts again', async () => {
    await withTotp();
    expect((await new FormClient(t).get('/account/second-factor')).text).toContain('href="/account/sign-in"');
    const browser = new FormClient(t);
    await browser.post('/account/sign-in', { email, password });
    const at = '/account/second-factor?returnTo=%2Fdocs';
    for (let i = 0; i < 4; i++) {
      const r = await browser.post(at, { code: '000000' });
      expect([r.status, problemsIn(r.text)]).toEqual([401, ['This code is wrong or has already been used.']]);
    }
    const other = new FormClient(t);
    for (const [name, value] of browser.cookies) other.cookies.set(name, value);
    const fifth = await browser.post(at, { code: '000000' });
    expect(fifth.status).toBe(401);
    for (const last of [fifth, await other.get(at)]) {
      expect(last.text).toContain('or too many codes were wrong. Start again.');
      expect(last.text).toContain('href="/account/sign-in?returnTo=%2Fdocs"');
      expect(last.text).not.toContain('name="code"');
    }
    expect([...browser.cookies.keys()].join()).not.toContain('second_step');
    expect((await browser.post(at, { code: '000000' })).text).toContain('Start again.');
    expect((await browser.get(DEVICES)).status).toBe(303);
  });
});

describe('/account/sign-up', () => {
  it('does not accept more letters of a name than the service does', async () => {
    const browser = new FormClient(t);
    const [, most] = /name="name"[^>]* maxlength="(\d+)"/.exec((await browser.get('/account/sign-up')).text) ?? [];
    const send = (letters: number) =>
      browser.post('/account/sign-up', { name: 'a'.repeat(letters), email, password: 'short' });
    expect(problemsIn((await send(Number(most))).text)).toHaveLength(1);
    expect(problemsIn((await send(Number(most) + 1)).text)).toHaveLength(2);
  });

  it('303, signed in', async () => {
    const browser = new FormClient(t);
    const r = await browser.post('/account/sign-up', { name: ' Ada ', email, password });
    expect([r.status, r.headers.get('location')]).toEqual([303, HOME]);
    const cookie = [...browser.cookies].map((c) => c.join('=')).join('; ');
    expect((await t.call('GET', '/auth/session', { headers: { cookie } })).body.user).toMatchObject({
      email,
      name: 'Ada',
    });
  });

  it('400: each field shows its error and keeps its input', async () => {
    const r = await new FormClient(t).post('/account/sign-up', {
      name: 'Ada "Countess"',
      email: 'no address',
      password: 'short',
    });
    expect(r.status).toBe(400);
    expect(problemsIn(r.text)).toEqual([
      'Enter an e-mail address such as name@example.com.',
      'Enter a password of at least 8 characters.',
    ]);
    expect(r.text).toContain('value="Ada &quot;Countess&quot;"');
    expect(r.text).toContain('aria-describedby="password-hint password-error"');
  });

  it('422 for an address that is in use', async () => {
    await signUp();
    const r = await new FormClient(t).post('/account/sign-up', { name: '', email, password });
    expect([r.status, problemsIn(r.text)]).toEqual([422, ['An account with this e-mail address already exists.']]);
  });

  it('403 if only administrators create accounts', async () => {
    const closed = await createTestService({ config: { users: { signUp: 'closed' } } });
    const browser = new FormClient(closed);
    expect((await browser.get('/account/sign-up')).status).toBe(403);
    expect((await browser.post('/account/sign-up', { email, password })).status).toBe(403);
    expect((await browser.get('/account/sign-in')).text).not.toContain('/account/sign-up');
  });
});

describe(DEVICES, () => {
  const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
  const idIn = (html: string): string[] => [...html.matchAll(/name="id" value="(\w+)"/g)].map((m) => m[1] as string);

  it('303 to the sign-in page and back without a session', async () => {
    const r = await new FormClient(t).get(`${DEVICES}?done=ended`);
    expect([r.status, r.headers.get('location')]).toEqual([
      303,
      '/account/sign-in?returnTo=%2Faccount%2Fdevices%3Fdone%3Dended',
    ]);
  });

  it('lists this device first; one can be ended, then all others', async () => {
    await signUp();
    const here = await signedIn({ 'user-agent': '<b>odd</b>' });
    const [there, third] = [await signedIn(firefox), await signedIn(firefox)];
    const page = await here.get(DEVICES);
    expect(page.text).toContain('Firefox on Linux');
    expect(page.text).not.toContain('<b>');
    expect(page.text.indexOf('This device')).toBeLessThan(page.text.indexOf('Firefox on Linux'));
    expect(page.text).toContain('IP address 192.0.2.1');
    const [current, newest] = idIn(page.text) as [string, string];
    const ended = await here.post(DEVICES, { id: newest });
    expect(ended.headers.get('location')).toBe(`${DEVICES}?done=ended`);
    expect((await third.get(DEVICES)).status).toBe(303);
    expect((await there.get(DEVICES)).status).toBe(200);
    expect((await here.post(DEVICES, { id: newest })).status).toBe(303);
    expect((await here.post(DEVICES, {})).headers.get('location')).toBe(`${DEVICES}?done=others`);
    expect((await there.get(DEVICES)).status).toBe(303);
    const rest = await here.get(`${DEVICES}?done=others`);
    expect(rest.text).toContain('All other devices were signed out.');
    expect(idIn(rest.text)).toEqual([current]);
    expect(rest.text).not.toContain('Sign out all other devices');
  });

  it('signs out when this device is ended', async () => {
    await signUp();
    const browser = await signedIn();
    const [id] = idIn((await browser.get(DEVICES)).text) as [string];
    const r = await browser.post(DEVICES, { id });
    expect([r.status, r.headers.get('location')]).toEqual([303, '/account/sign-in?done=signed-out']);
    expect([...browser.cookies.keys()]).toEqual([`${t.database.name}_known_device`]);
  });

  it('ends no session of another person, nor one by a form of another site', async () => {
    await signUp();
    const victim = await signedIn();
    const [id] = idIn((await victim.get(DEVICES)).text) as [string];
    email = `other-${email}`;
    await signUp();
    const other = await signedIn();
    expect((await other.post(DEVICES, { id })).status).toBe(303);
    expect(
      (await victim.post(DEVICES, { id }, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status,
    ).toBe(403);
    expect((await victim.get(DEVICES)).status).toBe(200);
  });
});

describe('POST /account/sign-out', () => {
  it('303 to the sign-in page, which confirms the sign-out', async () => {
    await signUp();
    const browser = await signedIn();
    const r = await browser.post('/account/sign-out', {});
    expect([r.status, ...browser.cookies.keys()]).toEqual([303, `${t.database.name}_known_device`]);
    expect((await browser.get(r.headers.get('location') ?? '')).text).toContain('You are signed out.');
  });
});
