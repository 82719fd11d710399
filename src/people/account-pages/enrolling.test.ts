import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { addPasskey, newSession } from '../../../test/support/authenticator.ts';
import { FormClient } from '../../../test/support/browser-like.ts';
import { PASSWORD } from '../../../test/support/people.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const QUARTER_MS = 15 * 60_000;
const PAGE = '/account/two-factor?returnTo=%2Faccount%2Fdevices';
const PASSKEYS = '/account/passkeys?returnTo=%2Faccount%2Fdevices';

const serve = (passwords: 'on' | 'off' = 'off') =>
  createTestService({ config: { users: { requireSecondFactor: 'all', passwords } } });
async function browserOf(t: TestService, id: string) {
  const session = await newSession(t, id);
  const browser = new FormClient(t);
  browser.cookies.set(`${t.legate.platform.config.service.name}_session`, session);
  return { browser, session };
}
/** A person who signed in without a password and must set up a second factor. */
async function enrolling(t: TestService) {
  const { id } = await t.user();
  return { id, ...(await browserOf(t, id)) };
}

describe('the pages for people who must set up a second factor', () => {
  it('set up an app without a password, and continue to the page that was requested', async () => {
    const t = await serve();
    const { browser } = await enrolling(t);
    expect((await browser.get('/account/devices')).headers.get('location')).toBe(PAGE);
    const page = await browser.get(PAGE);
    expect(page.text).toContain('Your account needs a second factor.');
    expect(page.text).not.toMatch(/name="password"|forgot-password|your password/i);
    const shown = await browser.post(PAGE, { action: 'begin' });
    const secret = /name="secret" value="([A-Z2-7]+)"/.exec(shown.text)?.[1] ?? '';
    const code = generateSync({ secret, epoch: t.clock.now() / 1000 });
    const done = await browser.post(PAGE, { action: 'confirm', secret, code });
    expect([done.status, done.text.includes('href="/account/devices"')]).toEqual([200, true]);
    expect((await browser.get('/account/devices')).status).toBe(200);

    const off = await browser.get('/account/two-factor?step=off');
    expect(off.text).not.toMatch(/name="password"|your password/i);
    t.clock.advance(30_000);
    const next = generateSync({ secret, epoch: t.clock.now() / 1000 });
    expect((await browser.post('/account/two-factor', { action: 'off', code: next })).status).toBe(303);
  });

  it('lead to the sign-in when the last one is too old', async () => {
    const t = await serve();
    const { browser } = await enrolling(t);
    t.clock.advance(QUARTER_MS + 1);
    const page = await browser.get(PAGE);
    expect(page.text).toContain(`href="/account/sign-in?returnTo=${encodeURIComponent(PAGE)}"`);
    expect(page.text).not.toContain('value="begin"');
    const late = await browser.post(PAGE, { action: 'begin' });
    expect([late.status, late.text.includes('more than 15 minutes ago')]).toEqual([403, true]);
    expect((await browser.get(`${PAGE}&lang=de`)).text).toContain('liegt mehr als 15 Minuten zurück');
  });

  it('offer a passkey, after which the page that was requested is open', async () => {
    const t = await serve();
    const { browser, session } = await enrolling(t);
    expect((await browser.get(PAGE)).text).toContain(`href="${PASSKEYS}"`);
    const page = await browser.get(PASSKEYS);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Your account needs a second factor.');
    expect(page.text).toMatch(/<div data-passkey="add"[^>]* data-next="\/account\/devices"/);
    expect(page.text).toContain(`<a href="${PAGE}">`);
    // The pages of the account are not open yet.
    expect(page.text).not.toContain('href="/account/tokens"');
    expect((await browser.post('/account/passkeys', { action: 'remove', id: 'pky_x' })).status).toBe(303);
    expect((await addPasskey(t, session)).status).toBe(201);
    expect((await browser.get('/account/devices')).status).toBe(200);
    expect((await browser.get('/account/passkeys?returnTo=https%3A%2F%2Fevil.example')).text).toContain(
      'data-next="/account/passkeys?done=added"',
    );
  });

  it('ask a person who has a passkey to sign in with it', async () => {
    const t = await serve('on');
    const { id, session } = await enrolling(t);
    expect((await addPasskey(t, session)).status).toBe(201);
    const { browser } = await browserOf(t, id);
    for (const path of [PAGE, PASSKEYS]) {
      const page = await browser.get(path);
      expect(page.text).toContain('Sign in again with one of your passkeys.');
      expect(page.text).not.toMatch(/value="begin"|data-passkey="add"|value="remove"/);
    }
  });

  it('ask for the password where there is one', async () => {
    const t = await serve('on');
    const { id } = await t.legate.users.create({ email: 'with-password@example.com', password: PASSWORD });
    const { browser } = await browserOf(t, id);
    t.clock.advance(QUARTER_MS + 1);
    expect((await browser.get(PAGE)).text).toContain('name="password"');
    expect((await browser.post(PAGE, { action: 'begin' })).status).toBe(400);
    expect((await browser.post(PAGE, { action: 'begin', password: PASSWORD })).status).toBe(200);
  });
});
