import { describe, expect, it } from 'vitest';
import { newSession } from '../../../test/support/authenticator.ts';
import { FormClient } from '../../../test/support/browser-like.ts';
import { openMailbox, tokenIn } from '../../../test/support/mailbox.ts';
import { PASSWORD } from '../../../test/support/people.ts';
import { createTestService, type TestOptions } from '../../../test/support/service.ts';

const OFF = 'Sign-in with a password is switched off.';
const issuers = [{ name: 'acme', issuer: 'https://acme.example', uses: ['signIn' as const], clientId: 'legate' }];
const serve = async (users: NonNullable<TestOptions['config']>['users']) =>
  createTestService({
    config: { users: { signUp: 'open', ...users }, issuers, mail: { url: (await openMailbox()).url } },
  });

describe('pages for passwords that are switched off', () => {
  it.each(['off', 'adminsOnly'] as const)('/account/sign-up names the other ways with %s', async (passwords) => {
    const t = await serve({ passwords });
    const path = '/account/sign-up?returnTo=%2Faccount%2Fdevices';
    const page = await new FormClient(t).get(path);
    expect([page.status, page.text.includes(OFF)]).toEqual([200, true]);
    expect(page.text).not.toContain('name="password"');
    for (const way of ['auth/oidc/acme/start', 'account/magic-link', 'account/email-code', 'account/sign-in'])
      expect(page.text).toContain(`href="/${way}?returnTo=%2Faccount%2Fdevices"`);
    expect(page.text).toContain('data-passkey="sign-in"');
    const sent = await new FormClient(t).post(path, { email: 'ada@example.com', password: PASSWORD });
    expect([sent.status, sent.text.includes(OFF), sent.text.includes('name="password"')]).toEqual([403, true, false]);
    expect((await new FormClient(t).get(`${path}&lang=de`)).text).toContain('Die Anmeldung mit Passwort ist hier');
  });

  it('/account/forgot-password names the other ways, and does not say that a link is on its way', async () => {
    const t = await serve({ passwords: 'off' });
    const path = '/account/forgot-password';
    for (const page of [
      await new FormClient(t).get(path),
      await new FormClient(t).post(path, { email: 'ada@example.com' }),
      await new FormClient(t).post(path, { email: 'nonsense' }),
    ]) {
      expect(page.text).toContain(OFF);
      expect(page.text).toContain('href="/auth/oidc/acme/start"');
      expect(page.text).not.toMatch(/name="email"|on its way/);
    }
    const sent = await t.call('POST', path, { body: { email: 'ada@example.com' } });
    expect([sent.status, sent.body.error.code]).toEqual([403, 'PASSWORDS_OFF']);
  });

  it('a link that verifies an address leads to the sign-in, and the start page offers no account', async () => {
    const box = await openMailbox();
    const t = await createTestService({
      config: { users: { signUp: 'open', passwords: 'off' }, mail: { url: box.url } },
    });
    const { id, email } = await t.user();
    await t.legate.platform.database.write
      .updateTable('users')
      .set({ email_verified: 0 })
      .where('id', '=', id)
      .execute();
    expect((await t.call('POST', '/verify-email/send', { body: { email } })).status).toBe(200);
    const done = await new FormClient(t).post('/verify-email', { token: tokenIn(await box.next(email)) });
    expect(done.text).toContain('href="/account/sign-in"');
    expect(done.text).not.toContain('forgot-password');
    expect((await new FormClient(t).get('/')).text).not.toContain('/account/sign-up');
  });

  it('administrators can still request a link if only they have passwords, and everybody if all have', async () => {
    for (const passwords of ['adminsOnly', 'on'] as const) {
      const t = await serve({ passwords });
      expect((await new FormClient(t).get('/account/forgot-password')).text).toContain('name="email"');
      const sent = await new FormClient(t).post('/account/forgot-password', { email: 'ada@example.com' });
      expect([sent.status, sent.text.includes('on its way')]).toEqual([200, true]);
    }
  });

  it('/account/password offers neither to change nor to set one', async () => {
    const t = await serve({ passwords: 'adminsOnly' });
    const pageOf = async (id: string) => {
      const browser = new FormClient(t);
      browser.cookies.set(`${t.legate.platform.config.service.name}_session`, await newSession(t, id));
      return browser.get('/account/password');
    };
    const withPassword = (role: 'user' | 'admin') =>
      t.legate.users.create({ email: `${role}@example.com`, password: PASSWORD, role });
    for (const { id } of [await t.user(), await withPassword('user')]) {
      const page = await pageOf(id);
      expect([page.status, page.text.includes(OFF)]).toEqual([200, true]);
      expect(page.text).not.toMatch(/type="password"|forgot-password/);
    }
    expect((await pageOf((await withPassword('admin')).id)).text).toContain('type="password"');
  });

  it('the sign-in page does not separate ways from a form that is not there', async () => {
    const t = await serve({ passwords: 'off' });
    const main = (await new FormClient(t).get('/account/sign-in')).text.split('</h1>')[1] ?? '';
    expect(main.trim()).toMatch(/^<div class="actions"><a [^>]*href="\/auth\/oidc\/acme\/start"/);
    expect(main.match(/class="or"/g)).toHaveLength(2);
  });
});
