import { generateSync } from 'otplib';
import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { ask, authorizePath, register } from '../../../test/support/oauth.ts';
import { type Answered, createTestService, type TestService } from '../../../test/support/service.ts';
import { en } from '../../pages/texts/en.ts';

const password = 'correct horse battery';
const PAGE = '/account/two-factor';
const DEVICES = '/account/two-factor/devices';
const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});

let people = 0;
interface Signed {
  readonly email: string;
  readonly browser: FormClient;
}
async function person(on = t, headers: Record<string, string> = {}): Promise<Signed> {
  const email = `two-factor${++people}@example.com`;
  await on.legate.users.create({ email, password });
  const browser = new FormClient(on, headers);
  await browser.post('/account/sign-in', { email, password });
  return { email, browser };
}
const codeNow = (secret: string, on = t): string => {
  on.clock.advance(30_000);
  return generateSync({ secret, epoch: on.clock.now() / 1000 });
};
const secretIn = ({ text }: Answered): string => /name="secret" value="([A-Z2-7]+)"/.exec(text)?.[1] ?? '';
const codesIn = ({ text }: Answered): string[] =>
  [...text.matchAll(/<code>([a-z0-9-]{11})<\/code>/g)].map((m) => m[1] as string);
const problems = ({ text }: Answered): string[] =>
  [...text.matchAll(/<li>(?:<a href="#\w+">)?([^<]+)(?:<\/a>)?<\/li>/g)].map((m) => m[1] as string);
const begin = (browser: FormClient, at = PAGE): Promise<Answered> => browser.post(at, { action: 'begin', password });
async function enrolled(on = t, headers: Record<string, string> = {}) {
  const p = await person(on, headers);
  const secret = secretIn(await begin(p.browser));
  const done = await p.browser.post(PAGE, { action: 'confirm', secret, code: codeNow(secret, on) });
  expect(done.status).toBe(200);
  return { ...p, secret, codes: codesIn(done) };
}
const userOf = async ({ browser }: Signed, on = t) => {
  const cookie = [...browser.cookies].map((c) => c.join('=')).join('; ');
  return (await on.call('GET', '/auth/session', { headers: { cookie } })).body.user;
};

describe('setting up a second factor', () => {
  it('shows the secret as QR code and text, asks for a code, and shows backup codes that work', async () => {
    const p = await person();
    const start = await p.browser.get(PAGE);
    expect(start.text).toContain('autocomplete="current-password"');
    expect(start.text).not.toMatch(/<script|style=| on[a-z]+=/);
    const shown = await begin(p.browser);
    const secret = secretIn(shown);
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(shown.text).toContain(`>${secret.match(/.{4}/g)?.join(' ')}</code>`);
    expect(shown.text).toMatch(/<svg class="qr"[^>]* role="img" aria-label="QR code[^"]*"/);
    expect((await userOf(p)).twoFactorEnabled).toBe(false);

    const digits = codeNow(secret);
    const done = await p.browser.post(PAGE, {
      action: 'confirm',
      secret,
      code: `${digits.slice(0, 3)} ${digits.slice(3)}`,
    });
    expect(done.status).toBe(200);
    expect((await userOf(p)).twoFactorEnabled).toBe(true);
    const codes = codesIn(done);
    expect(new Set(codes).size).toBe(10);
    const later = await p.browser.get(PAGE);
    expect(later.text).toContain('10 codes are left.');
    expect([secretIn(later), codesIn(later)]).toEqual(['', []]);

    const elsewhere = new FormClient(t);
    await elsewhere.post('/account/sign-in', { email: p.email, password });
    const second = await elsewhere.post('/account/second-factor', { code: codes[3] as string });
    expect([second.status, second.headers.get('location')]).toEqual([303, '/account']);
    expect((await p.browser.get(PAGE)).text).toContain('9 codes are left.');
  });

  it('shows the same key again after a wrong code, but not to others', async () => {
    const { browser } = await person();
    const secret = secretIn(await begin(browser));
    const wrong = await browser.post(PAGE, { action: 'confirm', secret, code: '000000' });
    expect([wrong.status, problems(wrong), secretIn(wrong)]).toEqual([401, [en.codes.INVALID_CODE], secret]);
    const empty = await browser.post(PAGE, { action: 'confirm', secret, code: ' ' });
    expect([empty.status, secretIn(empty)]).toEqual([401, secret]);
    for (const guess of ['A'.repeat(secret.length), '']) {
      const r = await browser.post(PAGE, { action: 'confirm', secret: guess, code: '000000' });
      expect([r.status, secretIn(r), r.text.includes('<svg class="qr"')]).toEqual([401, '', false]);
    }
    expect(secretIn(await browser.get(PAGE))).toBe('');
    expect((await browser.post(PAGE, { action: 'confirm', secret, code: codeNow(secret) })).status).toBe(200);
  });

  it('requires the password', async () => {
    const p = await person();
    const r = await p.browser.post(PAGE, { action: 'begin', password: 'not this one' });
    expect([r.status, problems(r)]).toEqual([401, [en.codes.INVALID_PASSWORD]]);
    expect((await p.browser.post(PAGE, { action: 'begin' })).status).toBe(400);
  });

  it('starts again when the second factor was switched on in the meantime', async () => {
    const { browser, secret } = await enrolled();
    for (const fields of [
      { action: 'begin', password },
      { action: 'confirm', secret, code: codeNow(secret) },
    ]) {
      const r = await browser.post(PAGE, fields);
      expect([r.status, r.headers.get('location')]).toEqual([303, PAGE]);
    }
  });

  it('refuses a form of another site and other credentials, and shows nothing without a session', async () => {
    const p = await person();
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    for (const path of [PAGE, DEVICES])
      expect((await p.browser.post(path, { action: 'begin', password }, foreign)).status).toBe(403);
    const stranger = await new FormClient(t).get(PAGE);
    expect(stranger.headers.get('location')).toBe(`/account/sign-in?returnTo=${encodeURIComponent(PAGE)}`);
    const session = (await t.call('POST', '/sign-in', { body: { email: p.email, password } })).body.token;
    const { token } = (await t.call('POST', '/api-tokens', { as: session, body: { name: 'x' } })).body;
    const body = { action: 'begin', password };
    expect((await t.call('POST', PAGE, { as: token, body })).status).toBe(403);
    expect((await t.call('POST', PAGE, { as: session, body: { action: 'begin', more: 1 } })).status).toBe(400);
  });

  it('exists only for people who sign in to this service, not for users of the embedding application', async () => {
    const other = await createTestService({ authenticate: () => ({ userId: 'ext-1' }) });
    const browser = new FormClient(other);
    expect((await browser.get('/account')).text).not.toContain(PAGE);
    expect((await browser.get(PAGE)).text).toContain('another application');
    expect((await browser.post(PAGE, { action: 'begin', password })).status).toBe(403);
  });

  it('is in German on request', async () => {
    const { browser } = await person(t, { 'accept-language': 'de' });
    expect((await begin(browser)).text).toContain('<h1>Zweiten Faktor einrichten</h1>');
  });
});

describe('a person who must have a second factor', () => {
  let required: TestService;
  beforeAll(async () => {
    required = await createTestService({ lasting: true, config: { users: { requireSecondFactor: 'all' } } });
  });

  it('is redirected from every page to the set-up, and from there to the requested page', async () => {
    const p = await person(required);
    for (const path of ['/account', '/account/devices?done=ended', '/account/apps']) {
      const r = await p.browser.get(path);
      const to = `${PAGE}?returnTo=${encodeURIComponent(path)}`;
      expect([r.status, r.headers.get('location')]).toEqual([303, to]);
    }
    const at = `${PAGE}?returnTo=%2Faccount%2Fdevices`;
    const start = await p.browser.get(at);
    expect([start.status, start.text.includes('Your account needs a second factor.')]).toEqual([200, true]);
    expect(start.text).toContain('action="/account/sign-out"');
    const shown = await begin(p.browser, at);
    const secret = secretIn(shown);
    const done = await p.browser.post(at, { action: 'confirm', secret, code: codeNow(secret, required) });
    expect(done.text).toContain('href="/account/devices">I have saved the codes</a>');
    expect((await p.browser.get('/account/devices')).status).toBe(200);
  });

  it('returns to the authorization request of an application', async () => {
    const p = await person(required);
    const asked = authorizePath(ask(await register(required)));
    const away = await p.browser.get(asked);
    const to = new URL(away.headers.get('location') ?? '', required.legate.baseUrl);
    expect([away.status, to.pathname]).toEqual([303, PAGE]);
    const secret = secretIn(await begin(p.browser, to.pathname + to.search));
    const code = codeNow(secret, required);
    const done = await p.browser.post(to.pathname + to.search, { action: 'confirm', secret, code });
    const next = /class="button" href="([^"]+)"/.exec(done.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toBe(asked);
    expect((await p.browser.get(next)).headers.get('location')).toContain('/consent?');
  });

  it('does not redirect to other origins', async () => {
    const p = await person(required);
    const at = `${PAGE}?returnTo=${encodeURIComponent('https://evil.example/')}`;
    const secret = secretIn(await begin(p.browser, at));
    const done = await p.browser.post(at, { action: 'confirm', secret, code: codeNow(secret, required) });
    expect(done.text).not.toContain('evil.example/"');
    expect(done.text).toContain(`href="${PAGE}">I have saved`);
  });

  it('gets 403 in API calls', async () => {
    const { email } = await person(required);
    const { token } = (await required.call('POST', '/sign-in', { body: { email, password } })).body;
    const r = await required.call('GET', '/account', { as: token });
    expect([r.status, r.body.error.code]).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
  });
});

describe('a second factor that is on', () => {
  it('can get new backup codes for a code, which end the old ones', async () => {
    const p = await enrolled();
    const at = `${PAGE}?step=backup-codes`;
    expect((await p.browser.get(at)).text).toContain('<h1>Create new backup codes</h1>');
    const wrong = await p.browser.post(at, { action: 'backup-codes', code: '000000' });
    expect([wrong.status, problems(wrong)]).toEqual([401, [en.codes.INVALID_CODE]]);
    expect(wrong.text).toContain('<h1>Create new backup codes</h1>');
    const renewed = await p.browser.post(at, { action: 'backup-codes', code: codeNow(p.secret) });
    const codes = codesIn(renewed);
    expect([renewed.status, codes.length, codes.filter((code) => p.codes.includes(code))]).toEqual([200, 10, []]);
    const attempt = async (code: string): Promise<number> => {
      const elsewhere = new FormClient(t);
      await elsewhere.post('/account/sign-in', { email: p.email, password });
      return (await elsewhere.post('/account/second-factor', { code })).status;
    };
    expect([await attempt(p.codes[0] as string), await attempt(codes[0] as string)]).toEqual([401, 303]);
    const { id } = await userOf(p);
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['data', 'change'])
      .where('user_id', '=', id)
      .where('type', '=', 'user.updated')
      .orderBy('seq')
      .execute();
    const [last] = rows.slice(-1);
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ changed: ['backupCodes'] });
    expect(JSON.parse(last?.change ?? '')).toMatchObject({
      actor: { kind: 'user', id },
      after: { backupCodes: 'changed' },
    });
    expect(JSON.stringify(rows)).not.toContain(codes[1]);
  });

  it('is switched off with password and code, and not with only one of them', async () => {
    const p = await enrolled();
    const at = `${PAGE}?step=off`;
    for (const [fields, problem] of [
      [{ password }, en.codes.INVALID_CODE],
      [{ password, code: '000000' }, en.codes.INVALID_CODE],
      [{ password: 'not this one', code: codeNow(p.secret) }, en.codes.INVALID_PASSWORD],
    ] as const) {
      const r = await p.browser.post(at, { action: 'off', ...fields });
      expect([r.status, problems(r)]).toEqual([401, [problem]]);
      expect(r.text).toContain('<h1>Switch off the second factor</h1>');
    }
    const off = await p.browser.post(at, { action: 'off', password, code: codeNow(p.secret) });
    expect(off.headers.get('location')).toBe(`${PAGE}?done=off`);
    expect((await p.browser.get(`${PAGE}?done=off`)).text).toContain('The second factor is off.');
    expect((await userOf(p)).twoFactorEnabled).toBe(false);
    const again = await p.browser.post(PAGE, { action: 'backup-codes', code: '000000' });
    expect([again.status, again.headers.get('location')]).toEqual([303, PAGE]);
  });

  it('lists trusted devices by name and ends one or all, but none of another person', async () => {
    const p = await enrolled();
    const trusted = async (headers: Record<string, string>): Promise<FormClient> => {
      const browser = new FormClient(t, headers);
      await browser.post('/account/sign-in', { email: p.email, password });
      await browser.post('/account/second-factor', { code: codeNow(p.secret), trustDevice: 'on' });
      return browser;
    };
    const [here, there, third] = [
      await trusted(FIREFOX),
      await trusted({ 'user-agent': '<b>odd</b>' }),
      await trusted({}),
    ];
    const asks = async (browser: FormClient): Promise<boolean> =>
      (await browser.post('/account/sign-in', { email: p.email, password })).headers.get('location') !== '/account';
    expect([await asks(here), await asks(there), await asks(third)]).toEqual([false, false, false]);
    const page = await here.get(PAGE);
    expect(page.text).toContain('aria-label="End trust in Firefox on Linux"');
    expect(page.text).not.toContain('<b>');
    const ids = [...page.text.matchAll(/name="id" value="([\w-]+)"/g)].map((m) => m[1] as string);
    expect(ids.length).toBe(3);
    const ofFirefox = ids[2] as string;

    const stranger = await enrolled();
    expect((await stranger.browser.post(DEVICES, { id: ofFirefox })).status).toBe(303);
    expect(await asks(here)).toBe(false);
    expect((await there.post(DEVICES, { id: ofFirefox })).headers.get('location')).toBe(`${PAGE}?done=trust`);
    expect([await asks(here), await asks(there)]).toEqual([true, false]);
    expect((await there.post(DEVICES, {})).headers.get('location')).toBe(`${PAGE}?done=all-trust`);
    expect([await asks(there), await asks(third)]).toEqual([true, true]);
    expect((await p.browser.get(PAGE)).text).toContain('There are none.');
  });
});
