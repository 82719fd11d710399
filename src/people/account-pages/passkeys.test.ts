import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { Authenticator, addPasskey, newSession, signInWithPasskey } from '../../../test/support/authenticator.ts';
import { FormClient } from '../../../test/support/browser-like.ts';
import { PASSWORD, type Person, signedUp, withMailbox } from '../../../test/support/people.ts';
import { type Answered, createTestService } from '../../../test/support/service.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { SessionErrors } from '../sessions/index.ts';
import { PasskeyErrors } from '../sign-in/passkeys/index.ts';
import { UserErrors } from '../users/index.ts';

const shared = withMailbox();
const PAGE = '/account/passkeys';
const QUARTER_MS = 15 * 60_000;

/** A browser with a session whose person has one passkey. */
async function signedIn(p?: Person): Promise<{ p: Person; browser: FormClient; device: Authenticator; id: string }> {
  const { t, box } = await shared();
  const user = p ?? { ...(await t.user()), t, box, session: '' };
  const session = p?.session ?? (await newSession(t, user.id));
  const browser = new FormClient(t);
  browser.cookies.set(`${t.legate.platform.config.service.name}_session`, session);
  const device = new Authenticator();
  const { id } = (await addPasskey(t, session, device, { name: 'Key <ring>' })).body;
  return { p: { ...user, session }, browser, device, id };
}
/** Returns the codes of answers for which the script has a text. */
function codesIn(page: Answered): string[] {
  const [, messages = '{}'] = /data-messages="([^"]*)"/.exec(page.text) ?? [];
  return Object.keys(JSON.parse(messages.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')));
}
const policyOf = (r: Answered): string => r.headers.get('content-security-policy') ?? '';

describe('the page of passkeys', () => {
  it('lists them with name, age and use, offers to add one by script, and explains the way without', async () => {
    const { p, browser, device } = await signedIn();
    const before = await browser.get(PAGE);
    expect(before.text).toContain('<h2>Key &lt;ring&gt;</h2>');
    expect(before.text).toContain('Not used yet');
    expect(before.text).toMatch(/<div data-passkey="add"[^>]* hidden>/);
    expect(before.text).toMatch(/<noscript><p>[^<]*<a href="\/account\/two-factor">/);
    expect(policyOf(before)).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; connect-src 'self'; style-src/);
    await signInWithPasskey(p.t, device);
    expect((await browser.get(PAGE)).text).toContain('Last used on');
    const german = (await browser.get(`${PAGE}?lang=de`)).text;
    expect(german).toContain('Zuletzt verwendet am');
  });

  it('has a text for each answer that the script may get', async () => {
    const { browser } = await signedIn();
    const { PASSKEY_REJECTED, PASSKEY_EXISTS, PASSKEY_LIMIT_EXCEEDED } = PasskeyErrors;
    const { REAUTHENTICATION_REQUIRED, SESSION_LIMIT_REACHED } = SessionErrors;
    const { RATE_LIMIT_EXCEEDED, UNAUTHORIZED } = CommonErrors;
    const codes = (...errors: { code: string }[]) => expect.arrayContaining(errors.map(({ code }) => code));
    expect(codesIn(await browser.get(PAGE))).toEqual(
      codes(
        PASSKEY_REJECTED,
        PASSKEY_EXISTS,
        PASSKEY_LIMIT_EXCEEDED,
        REAUTHENTICATION_REQUIRED,
        RATE_LIMIT_EXCEEDED,
        UNAUTHORIZED,
      ),
    );
    expect(codesIn(await browser.get('/account/sign-in'))).toEqual(
      codes(PasskeyErrors.INVALID_PASSKEY, UserErrors.EMAIL_NOT_VERIFIED, SESSION_LIMIT_REACHED, RATE_LIMIT_EXCEEDED),
    );
  });

  it('removes a passkey by a form', async () => {
    const { browser, id } = await signedIn();
    const r = await browser.post(PAGE, { action: 'remove', id });
    expect([r.status, r.headers.get('location')]).toEqual([303, `${PAGE}?done=removed`]);
    const after = await browser.get(`${PAGE}?done=removed`);
    expect(after.text).toContain('The passkey was removed');
    expect(after.text).toContain('You have no passkeys');
    const again = await browser.post(PAGE, { action: 'remove', id });
    expect(again.status).toBe(404);
    expect(again.text).toContain('This passkey does not exist');
  });

  it('requires a new sign-in when the last one is too old', async () => {
    const { p, browser, id } = await signedIn();
    p.t.clock.advance(QUARTER_MS + 1);
    const page = await browser.get(PAGE);
    expect(page.text).toContain('/account/sign-in?returnTo=%2Faccount%2Fpasskeys');
    expect(page.text).not.toMatch(/data-passkey="add"|value="remove"/);
    expect((await browser.post(PAGE, { action: 'remove', id })).status).toBe(403);
  });

  it('asks people with an authenticator app for a code, after which passkeys can be changed', async () => {
    const p = await signedUp(await shared());
    const { secret } = (await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).body;
    const code = (): string => generateSync({ secret, epoch: p.t.clock.now() / 1000 });
    await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: code() } });
    const { browser } = await signedIn(p);
    p.t.clock.advance(QUARTER_MS + 30_000);
    expect((await browser.get(PAGE)).text).toContain('name="code"');
    const wrong = await browser.post(PAGE, { action: 'confirm', code: '000000' });
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain('aria-invalid="true"');
    expect((await browser.post(PAGE, { action: 'confirm', code: ' ' })).status).toBe(401);
    const right = await browser.post(PAGE, { action: 'confirm', code: code() });
    expect([right.status, right.headers.get('location')]).toEqual([303, PAGE]);
    expect((await browser.get(PAGE)).text).toContain('data-passkey="add"');
  });

  it('tells users of the embedding application that it manages their passkeys', async () => {
    const { t } = await shared();
    const user = await t.user();
    const r = await t.call('GET', PAGE, { as: user, headers: { accept: 'text/html' } });
    expect(r.status).toBe(200);
    expect(r.text).toContain('Manage your passkeys there');
  });
});

describe('the sign-in page', () => {
  it('offers a passkey, hidden until the script shows it, and continues to the requested page', async () => {
    const { t } = await shared();
    const r = await new FormClient(t).get('/account/sign-in?returnTo=%2Fdocs');
    const [box = ''] = /<div data-passkey="sign-in"[^>]*>/.exec(r.text) ?? [];
    expect(box).toContain('data-next="/docs"');
    expect(box).toContain(' hidden');
    const evil = (await new FormClient(t).get('/account/sign-in?returnTo=https%3A%2F%2Fevil.example')).text;
    expect(evil).toContain('data-next="/account"');
  });

  it('offers no passkey and has no script where browsers do not allow passkeys', async () => {
    const t = await createTestService({ config: { baseUrl: 'https://192.0.2.7' } });
    const r = await new FormClient(t).get('/account/sign-in');
    expect(r.text).not.toMatch(/data-passkey=|<script/);
    expect(policyOf(r)).not.toContain('script-src');
  });
});

describe('the page of the second factor', () => {
  it('asks people for their passkey if a second factor is required and they used the password', async () => {
    const { box } = await shared();
    const t = await createTestService({ config: { users: { requireSecondFactor: 'all' }, mail: { url: box.url } } });
    const p = await signedUp({ t, box });
    const sessions = t.legate.platform.database.write.updateTable('sessions').where('user_id', '=', p.id);
    await sessions.set({ both_factors: 1 }).execute();
    expect((await addPasskey(t, p.session)).status).toBe(201);
    await sessions.set({ both_factors: 0 }).execute();
    const browser = new FormClient(t);
    await browser.post('/account/sign-in', { email: p.email, password: PASSWORD });
    const r = await browser.post('/account/two-factor', { action: 'begin', password: PASSWORD });
    expect(r.status).toBe(403);
    expect(r.text).toContain('Your account has a passkey');
  });
});
