import { generateSync } from 'otplib';
import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { type Answered, createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import type { Mail } from '../../operations/mail/index.ts';
import { en } from '../../pages/texts/en.ts';

const password = 'correct horse battery';
const another = 'another long password';
const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
const mails: Mail[] = [];
let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true, printMail: (mail) => void mails.push(mail) });
});

let people = 0;
async function person(): Promise<{ email: string; browser: FormClient }> {
  const email = `credentials${++people}@example.com`;
  await t.legate.users.create({ email, password });
  const browser = new FormClient(t);
  await browser.post('/account/sign-in', { email, password });
  return { email, browser };
}
const cookiesOf = (browser: FormClient): string => [...browser.cookies].map((c) => c.join('=')).join('; ');
const api = (browser: FormClient, path: string): Promise<Answered> =>
  t.call('GET', path, { headers: { cookie: cookiesOf(browser) } });
const problems = ({ text }: Answered): string[] =>
  [...text.matchAll(/<li>(?:<a href="#[\w-]+">)?([^<]+)(?:<\/a>)?<\/li>/g)].map((m) => m[1] as string);
const signIn = async (email: string, secret: string): Promise<number> =>
  (await t.call('POST', '/sign-in', { body: { email, password: secret } })).status;

describe('/account/password', () => {
  const PAGE = '/account/password';

  it('changes the password, keeps this session and ends the others', async () => {
    const { email, browser } = await person();
    const elsewhere = new FormClient(t);
    await elsewhere.post('/account/sign-in', { email, password });
    const page = await browser.get(PAGE);
    expect(page.text).toContain('autocomplete="new-password"');
    expect(page.text).not.toMatch(/<script|style=| on[a-z]+=/);
    const r = await browser.post(PAGE, { currentPassword: password, newPassword: another });
    expect([r.status, r.headers.get('location')]).toEqual([303, `${PAGE}?done=changed`]);
    expect((await browser.get(`${PAGE}?done=changed`)).text).toContain(en.password.done);
    expect((await elsewhere.get('/account')).status).toBe(303);
    expect([await signIn(email, password), await signIn(email, another)]).toEqual([401, 200]);
  });

  it('shows the problem at each field, and no passwords', async () => {
    const { email, browser } = await person();
    for (const [currentPassword, newPassword, field, message] of [
      ['not this one', another, 'currentPassword', en.codes.INVALID_PASSWORD],
      [password, 'short', 'newPassword', en.fields.passwordShort],
      [password, 'password1', 'newPassword', en.codes.PASSWORD_TOO_COMMON],
    ] as const) {
      const r = await browser.post(PAGE, { currentPassword, newPassword });
      expect([r.status >= 400, problems(r)]).toEqual([true, [message]]);
      expect(r.text).toContain(`id="${field}-error"`);
      expect(r.text).not.toContain(`value="${newPassword}"`);
    }
    expect((await browser.post(PAGE, { currentPassword: password, newPassword: another }, FOREIGN)).status).toBe(403);
    expect(await signIn(email, password)).toBe(200);
  });

  it('sends a person without a password to set one', async () => {
    const { email, browser } = await person();
    await t.legate.platform.database.write
      .updateTable('users')
      .set({ password_hash: null })
      .where('email', '=', email)
      .execute();
    const page = await browser.get(PAGE);
    expect(page.text).toContain('href="/account/forgot-password"');
    expect(page.text).not.toContain('type="password"');
  });
});

describe('/account/email-code', () => {
  const PAGE = '/account/email-code';
  const VERIFY = '/account/email-code/verify';
  async function mailed(browser: FormClient, email: string, at = PAGE): Promise<{ shown: Answered; code: string }> {
    mails.length = 0;
    const shown = await browser.post(at, { email });
    await t.legate.platform.background.idle();
    return { shown, code: mails[0]?.code ?? '' };
  }

  it('mails a code, signs in with it, and continues to the requested page', async () => {
    const { email } = await person();
    const browser = new FormClient(t);
    const signInPage = await browser.get('/account/sign-in?returnTo=%2Fdocs');
    expect(signInPage.text).toContain(`href="${PAGE}?returnTo=%2Fdocs"`);
    const { shown, code } = await mailed(browser, email, `${PAGE}?returnTo=%2Fdocs`);
    expect(shown.status).toBe(200);
    expect(shown.text).toContain(`action="${VERIFY}?returnTo=%2Fdocs"`);
    expect(shown.text).toContain('autocomplete="one-time-code"');
    const wrong = await browser.post(`${VERIFY}?returnTo=%2Fdocs`, { email, code: 'x' });
    expect([wrong.status, problems(wrong)]).toEqual([401, [en.codes.INVALID_CODE]]);
    expect(wrong.text).toContain(`name="email" value="${email}"`);
    const right = await browser.post(`${VERIFY}?returnTo=%2Fdocs`, {
      email,
      code: `${code.slice(0, 3)} ${code.slice(3)}`,
    });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/docs']);
    expect((await browser.get('/account')).text).toContain(email);
    expect((await browser.post(VERIFY, { email, code })).status).toBe(401);
  });

  it('gives the same answer for an unknown address, and mails nothing', async () => {
    const { email } = await person();
    const known = await mailed(new FormClient(t), email);
    const unknown = await mailed(new FormClient(t), 'nobody-here@example.com');
    expect(unknown.code).toBe('');
    expect(unknown.shown.text.replaceAll('nobody-here@example.com', email)).toBe(known.shown.text);
    const wrong = await new FormClient(t).post(PAGE, { email: 'no address' });
    expect([wrong.status, problems(wrong)]).toEqual([400, [en.fields.email]]);
  });

  it('binds the code to the browser that requested it; others do not use up its tries', async () => {
    const { email } = await person();
    const browser = new FormClient(t);
    const { code } = await mailed(browser, email);
    for (let i = 0; i < 3; i++) await new FormClient(t).post(VERIFY, { email, code: '000000' });
    expect((await new FormClient(t).post(VERIFY, { email, code })).status).toBe(401);
    expect((await browser.post(VERIFY, { email, code }, FOREIGN)).status).toBe(403);
    expect((await browser.post(VERIFY, { email, code })).status).toBe(303);
  });
});

describe('/account/tokens', () => {
  const PAGE = '/account/tokens';
  const tokenIn = ({ text }: Answered): string => /aria-labelledby="token">(lgk_[\w-]+)</.exec(text)?.[1] ?? '';
  const listed = async (browser: FormClient): Promise<Json[]> => (await api(browser, '/api-tokens')).body;

  it('creates a token with scopes and expiry, shows it once, lists it and revokes it', async () => {
    const { browser } = await person();
    expect((await browser.get(PAGE)).text).toContain(en.tokens.none);
    const r = await browser.post(PAGE, {
      name: ' ci <b> ',
      access: 'chosen',
      lifetime: '90',
      'scope:audit:read': 'on',
      'scope:agents:read': 'on',
    });
    expect(r.status).toBe(200);
    const token = tokenIn(r);
    const [made] = await listed(browser);
    expect(made).toMatchObject({ name: 'ci <b>', scopes: ['agents:read', 'audit:read'] });
    expect(Date.parse(made?.expiresAt) - t.clock.now()).toBe(90 * 24 * 3_600_000);
    expect((await t.call('GET', '/audit', { as: token })).status).toBe(200);
    expect((await t.call('GET', '/costs/summary', { as: token })).status).toBe(403);
    const page = await browser.get(PAGE);
    expect(page.text).toContain('ci &lt;b&gt;');
    expect(page.text).not.toContain(token);
    const revoked = await browser.post('/account/tokens/revoke', { id: made?.id });
    expect(revoked.headers.get('location')).toBe(`${PAGE}?done=revoked`);
    expect((await t.call('GET', '/audit', { as: token })).status).toBe(401);
    expect((await browser.post('/account/tokens/revoke', { id: made?.id })).status).toBe(303);
  });

  it('creates a token with all rights and without expiry only on request', async () => {
    const { browser } = await person();
    const page = await browser.get(PAGE);
    expect(page.text).toMatch(/value="chosen" checked/);
    const r = await browser.post(PAGE, { name: 'all', access: 'all', lifetime: 'never' });
    expect((await t.call('GET', '/agents', { as: tokenIn(r) })).status).toBe(200);
    expect(await listed(browser)).toMatchObject([{ scopes: null, expiresAt: null }]);
  });

  it('shows the problems and keeps the input', async () => {
    const { browser } = await person();
    for (const [fields, message] of [
      [{ name: 'x', access: 'chosen' }, en.tokens.needsScope],
      [{ name: 'x', access: 'all', 'scope:agents:read': 'on' }, en.tokens.allOrSome],
      [{ name: ' ', access: 'chosen', 'scope:agents:read': 'on' }, en.fields.required],
    ] as const) {
      const r = await browser.post(PAGE, { ...fields, lifetime: '365' });
      expect([r.status, problems(r)]).toEqual([400, [message]]);
      expect(r.text).toMatch(/value="365" checked/);
      expect(r.text.includes('name="scope:agents:read" checked')).toBe('scope:agents:read' in fields);
    }
    expect(await listed(browser)).toEqual([]);
    expect((await browser.post(PAGE, { name: 'x', access: 'all' }, FOREIGN)).status).toBe(403);
    expect((await browser.post(PAGE, { name: 'x', access: 'all', 'scope:offline_access': 'on' })).status).toBe(400);
  });

  it("does not revoke another person's token", async () => {
    const [victim, other] = [await person(), await person()];
    await victim.browser.post(PAGE, { name: 'x', access: 'all' });
    const [{ id } = {}] = await listed(victim.browser);
    expect((await other.browser.post('/account/tokens/revoke', { id })).status).toBe(303);
    expect(await listed(victim.browser)).toHaveLength(1);
  });

  it('asks for a code of the second factor that was not used recently', async () => {
    const { browser } = await person();
    const begun = await browser.post('/account/two-factor', { action: 'begin', password });
    const secret = /name="secret" value="(\w+)"/.exec(begun.text)?.[1] ?? '';
    const code = (): string => {
      t.clock.advance(30_000);
      return generateSync({ secret, epoch: t.clock.now() / 1000 });
    };
    await browser.post('/account/two-factor', { action: 'confirm', secret, code: code() });
    expect((await browser.get(PAGE)).text).not.toContain('name="code"');
    t.clock.advance(16 * 60_000);
    expect((await browser.get(PAGE)).text).toContain('name="code"');
    const fields = { name: 'x', access: 'all' };
    for (const [given, message] of [
      ['', en.codes.REAUTHENTICATION_REQUIRED],
      ['000000', en.codes.INVALID_CODE],
    ] as const) {
      const r = await browser.post(PAGE, { ...fields, code: given });
      expect([r.status >= 400, problems(r)]).toEqual([true, [message]]);
    }
    expect(tokenIn(await browser.post(PAGE, { ...fields, code: code() }))).toMatch(/^lgk_/);
  });
});
