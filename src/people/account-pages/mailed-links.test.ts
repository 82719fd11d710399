import { beforeEach, describe, expect, it } from 'vitest';
import { FormClient, problemsIn } from '../../../test/support/browser-like.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import type { Mail } from '../../operations/mail/index.ts';

const password = 'correct horse battery';
let t: TestService;
let people = 0;
let email = '';
const signUp = () => t.call('POST', '/sign-up', { body: { email, password } });

describe('pages that mail a link', () => {
  const mails: Mail[] = [];
  let mailing: Promise<TestService> | undefined;
  beforeEach(async () => {
    mails.length = 0;
    email = `person${++people}@example.com`;
    t = await (mailing ??= createTestService({ lasting: true, printMail: (mail) => void mails.push(mail) }));
  });
  const linkTo = async (): Promise<string> => {
    await t.legate.platform.background.idle();
    expect(mails.map((mail) => mail.to)).toEqual([email]);
    const { pathname, search } = new URL(mails[0]?.link ?? '');
    return pathname + search;
  };
  const tokenOf = (link: string): string => new URLSearchParams(link.split('?')[1]).get('token') ?? '';

  it('a link signs in and continues to the requested page', async () => {
    await signUp();
    const browser = new FormClient(t);
    expect((await browser.get('/account/sign-in?returnTo=%2Fdocs')).text).toContain(
      'href="/account/magic-link?returnTo=%2Fdocs"',
    );
    const asked = await browser.post('/account/magic-link?returnTo=%2Fdocs', { email });
    expect([asked.status, asked.text.includes(email)]).toEqual([200, true]);
    const link = await linkTo();
    expect((await browser.get(link)).text).toContain('<button');
    const r = await browser.post(link, { token: tokenOf(link) });
    expect([r.status, r.headers.get('location')]).toEqual([303, 'http://localhost:3000/docs']);
    expect((await browser.get('/account/devices')).status).toBe(200);
  });

  it('the page of a link warns if it would end what was set up, as for a browser that is not signed in', async () => {
    const { body } = await signUp();
    const warning = /everything that has been set up on it so far is removed/;
    const warns = async (link: string, as?: string): Promise<boolean> =>
      warning.test((await t.call('GET', link, as ? { as } : {})).text);
    for (const path of ['/account/verify-email', '/account/magic-link']) {
      mails.length = 0;
      await new FormClient(t).post(path, { email });
      const link = await linkTo();
      expect([await warns(link), await warns(link, body.token)]).toEqual([true, false]);
    }
    mails.length = 0;
    await new FormClient(t).post('/account/verify-email', { email });
    const link = await linkTo();
    const verified = await t.call('POST', '/verify-email', { as: body.token, body: { token: tokenOf(link) } });
    expect(verified.status).toBe(200);
    mails.length = 0;
    await new FormClient(t).post('/account/magic-link', { email });
    expect(await warns(await linkTo())).toBe(false);
  });

  it('the page of a link warns a person without a password too, if there is something to lose', async () => {
    const { body } = await signUp();
    const { write } = t.legate.platform.database;
    await write.updateTable('users').set({ password_hash: null }).where('id', '=', body.user.id).execute();
    await new FormClient(t).post('/account/magic-link', { email });
    const link = await linkTo();
    const warns = async (): Promise<boolean> => (await t.call('GET', link)).text.includes('set up on it so far');
    expect(await warns()).toBe(false);
    await t.agent({ ...body.user, token: body.token }, {});
    expect(await warns()).toBe(true);
  });

  it('a link continues to the authorization request of a client whose state is long', async () => {
    await signUp();
    const browser = new FormClient(t);
    const returnTo = `/oauth/authorize?client_id=x&state=${'s'.repeat(2048)}`;
    const asked = await browser.post(`/account/magic-link?returnTo=${encodeURIComponent(returnTo)}`, { email });
    expect([asked.status, problemsIn(asked.text)]).toEqual([200, []]);
    const link = await linkTo();
    const r = await browser.post(link, { token: tokenOf(link) });
    expect([r.status, r.headers.get('location')]).toEqual([303, `http://localhost:3000${returnTo}`]);
  });

  it('the page of such a link lets its form redirect to the redirect_uri of an authorization request', async () => {
    await signUp();
    const browser = new FormClient(t);
    const returnTo = encodeURIComponent('/oauth/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A7777%2Fcb');
    await browser.post(`/account/magic-link?returnTo=${returnTo}`, { email });
    expect((await browser.get(await linkTo())).headers.get('content-security-policy')).toContain(
      "form-action 'self' http://127.0.0.1:7777;",
    );
  });

  it('a forgotten password can be replaced; the page reports a new one that is too short', async () => {
    await signUp();
    const browser = new FormClient(t);
    await browser.post('/account/forgot-password', { email });
    const link = await linkTo();
    const short = await browser.post(link, { token: tokenOf(link), newPassword: 'short' });
    expect([short.status, problemsIn(short.text)]).toEqual([400, ['Enter a password of at least 8 characters.']]);
    expect((await browser.post(link, { token: tokenOf(link), newPassword: `${password} anew` })).status).toBe(200);
    expect((await browser.post('/account/sign-in', { email, password: `${password} anew` })).status).toBe(303);
  });

  it('gives the same answer for an address without an account', async () => {
    const answer = async (path: string, address: string): Promise<string> =>
      (await new FormClient(t).post(path, { email: address })).text.replaceAll(address, 'ADDRESS');
    await signUp();
    for (const path of ['/account/magic-link', '/account/forgot-password', '/account/verify-email'])
      expect(await answer(path, email)).toBe(await answer(path, `no-${email}`));
  });

  it('400 for an invalid address, which the form keeps', async () => {
    const r = await new FormClient(t).post('/account/forgot-password', { email: 'no address' });
    expect([r.status, problemsIn(r.text), r.text.includes('value="no address"')]).toEqual([
      400,
      ['Enter an e-mail address such as name@example.com.'],
      true,
    ]);
  });

  it('503 without mail; the sign-in page then has no link to the page', async () => {
    const silent = await createTestService({ production: true, config: { baseUrl: 'https://legate.example' } });
    const browser = new FormClient(silent);
    expect((await browser.get('/account/sign-in')).text).not.toContain('forgot-password');
    const r = await browser.post('/account/forgot-password', { email });
    expect(r.status).toBe(503);
    expect(r.text).toContain('role="alert"');
  });

  it('for an unverified address, the sign-in page offers another link', async () => {
    t = await createTestService({
      config: { users: { requireEmailVerification: true } },
      printMail: (mail) => void mails.push(mail),
    });
    const browser = new FormClient(t);
    expect((await browser.post('/account/sign-up', { name: '', email, password })).text).toContain('Check your e-mail');
    await t.legate.platform.background.idle();
    const r = await browser.post('/account/sign-in', { email, password });
    expect([r.status, r.text.includes('href="/account/verify-email"')]).toEqual([403, true]);
    mails.length = 0;
    await browser.post('/account/verify-email', { email });
    const link = await linkTo();
    expect((await browser.post(link, { token: tokenOf(link) })).status).toBe(200);
    expect((await browser.post('/account/sign-in', { email, password })).status).toBe(303);
  });
});
