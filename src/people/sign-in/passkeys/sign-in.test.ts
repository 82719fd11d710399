import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import {
  Authenticator,
  addPasskey,
  type Deviation,
  newSession,
  passkeyOf,
  registrationOptions,
  signInOptions,
  signInWithPasskey,
} from '../../../../test/support/authenticator.ts';
import { actorOf, codeOf, someone, withPasskey } from '../../../../test/support/passkeys.ts';
import { eventsAbout, signedUp, withMailbox } from '../../../../test/support/people.ts';
import { createTestService, type Json } from '../../../../test/support/service.ts';

const shared = withMailbox();
const MINUTE_MS = 60_000;
const REJECTED = [422, 'PASSKEY_REJECTED'];
const REFUSED = [401, 'INVALID_PASSKEY'];

describe('signing in with a passkey', () => {
  it('[WebAuthn 5.5] the options for a sign-in name no passkey and require user verification', async () => {
    const { t } = await shared();
    const { options } = await signInOptions(t);
    expect(options).toEqual({
      challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      rpId: 'localhost',
      timeout: 300_000,
      userVerification: 'required',
      allowCredentials: [],
    });
  });

  it('starts a new session, with the event, the cookie and the time of use', async () => {
    const p = await withPasskey(await someone(await shared()));
    p.t.clock.advance(1000);
    const r = await signInWithPasskey(p.t, p.device);
    expect(r.status).toBe(200);
    expect(r.body).toMatchObject({ token: expect.any(String), user: { id: p.id } });
    expect(r.headers.getSetCookie().some((c) => c.includes('_session=') && c.includes('Max-Age='))).toBe(true);
    expect((await p.t.call('GET', '/auth/session', { as: r.body.token })).body.user.id).toBe(p.id);
    const event = (await eventsAbout(p, 'auth.signin')).at(-1);
    expect(event).toMatchObject({ data: { method: 'passkey' } });
    expect(await actorOf(p, 'auth.signin')).toMatchObject({ kind: 'user', id: p.id });
    const [passkey] = (await p.t.call('GET', '/passkeys', { as: r.body.token })).body;
    expect(passkey.lastUsedAt).toBe(new Date(p.t.clock.now()).toISOString());
    const brief = await signInWithPasskey(p.t, p.device, { body: { rememberMe: false } });
    expect(brief.headers.getSetCookie().some((c) => c.includes('Max-Age='))).toBe(false);
  });

  it('counts as both factors', async () => {
    const p = await withPasskey(await someone(await shared()));
    const { write } = p.t.legate.platform.database;
    await write.updateTable('users').set({ two_factor_enabled: 1 }).where('id', '=', p.id).execute();
    const r = await signInWithPasskey(p.t, p.device);
    expect(r.body.twoFactorRequired).toBeUndefined();
    expect((await p.t.call('POST', '/api-tokens', { as: r.body.token, body: { name: 'x' } })).status).toBe(201);
  });

  it.each<[string, Deviation]>([
    ['[WebAuthn 7.2] a sign-in from another origin is refused', { origin: 'http://localhost.elsewhere.example:3000' }],
    ['[WebAuthn 7.2] a sign-in from a frame of another origin is refused', { crossOrigin: true }],
    ['[WebAuthn 7.2] a sign-in for another relying party is refused', { rpId: 'elsewhere.example' }],
    ['[WebAuthn 7.2] a sign-in without user verification is refused', { uv: false }],
    ['[WebAuthn 7.2] a sign-in without user presence is refused', { up: false }],
    ['[WebAuthn 7.2] a sign-in with the response of another ceremony is refused', { type: 'webauthn.create' }],
    ['[WebAuthn 7.2] a signature counter that decreases is refused', { counter: 4 }],
    ['[WebAuthn 7.2] a signature counter that does not increase is refused', { counter: 5 }],
    ['[WebAuthn 7.2] a missing signature counter is refused', { counter: 0 }],
    ['[WebAuthn 7.2] an authenticator that has become able to copy the key is refused', { synced: true }],
    ['[WebAuthn 7.2] a wrong signature is refused', { signature: Buffer.alloc(70, 1).toString('base64url') }],
    [
      '[WebAuthn 7.2] the user handle of another account is refused',
      { userHandle: Buffer.from('usr_x').toString('base64url') },
    ],
  ])('%s', async (_, deviation) => {
    const p = await withPasskey(await someone(await shared()), { counter: 5 });
    expect(codeOf(await signInWithPasskey(p.t, p.device, deviation))).toEqual(REFUSED);
    const [failed] = await eventsAbout(p, 'auth.failed');
    expect(failed).toMatchObject({ data: { method: 'passkey', reason: 'INVALID_PASSKEY' } });
    // The correct response still works.
    expect((await signInWithPasskey(p.t, p.device, { counter: 6 })).status).toBe(200);
  });

  it('[WebAuthn 6.1.1] an authenticator without a counter is accepted repeatedly', async () => {
    const p = await withPasskey(await someone(await shared()), { counter: 0 });
    for (let i = 0; i < 2; i++) expect((await signInWithPasskey(p.t, p.device, { counter: 0 })).status).toBe(200);
  });

  it('refuses the credential of another account, and an unknown one', async () => {
    const p = await withPasskey(await someone(await shared()));
    const q = await withPasskey(await someone(await shared()));
    const { options, cookie } = await signInOptions(p.t);
    const verify = (body: Json) => p.t.call('POST', '/passkeys/sign-in/verify', { body, headers: { cookie } });
    // The response is signed with the key of one account, but names the other.
    const mixed = p.device.get(options);
    const id = q.device.credentials[0]?.id;
    expect(codeOf(await verify({ ...mixed, id, rawId: id }))).toEqual(REFUSED);
    const unknown = new Authenticator();
    unknown.create(await registrationOptions(p.t, p.session));
    expect(codeOf(await signInWithPasskey(p.t, unknown))).toEqual(REFUSED);
    expect(codeOf(await verify({ ...mixed, response: { ...mixed.response, userHandle: null } }))).toEqual(REFUSED);
  });

  it('accepts a challenge once, for 5 minutes, in its browser, and one of several concurrent responses', async () => {
    const p = await withPasskey(await someone(await shared()));
    const verify = async (body: Json, cookie?: string) =>
      codeOf(await p.t.call('POST', '/passkeys/sign-in/verify', { body, ...(cookie ? { headers: { cookie } } : {}) }));
    const one = await signInOptions(p.t);
    const other = await signInOptions(p.t);
    expect(await verify(p.device.get(one.options))).toEqual(REFUSED);
    expect(await verify(p.device.get(one.options), other.cookie)).toEqual(REFUSED);
    expect(await verify({ ...p.device.get(one.options), rawId: 'x' }, one.cookie)).toEqual(REFUSED);
    // The wrong response has consumed the challenge.
    expect(await verify(p.device.get(one.options), one.cookie)).toEqual(REFUSED);

    const registering = await registrationOptions(p.t, p.session);
    expect(await verify(p.device.get({ ...one.options, challenge: registering.challenge }), other.cookie)).toEqual(
      REFUSED,
    );

    const late = await signInOptions(p.t);
    p.t.clock.advance(5 * MINUTE_MS);
    expect(await verify(p.device.get(late.options), late.cookie)).toEqual(REFUSED);

    const last = await signInOptions(p.t);
    const answers = [0, 1, 2].map(() => p.device.get(last.options));
    const statuses = await Promise.all(answers.map((answer) => verify(answer, last.cookie)));
    expect(statuses.map(([status]) => status).sort()).toEqual([200, 401, 401]);
  });

  it('accepts one of several concurrent responses with the same counter', async () => {
    const p = await withPasskey(await someone(await shared()));
    const browsers = await Promise.all([0, 1, 2].map(() => signInOptions(p.t)));
    const statuses = await Promise.all(
      browsers.map(async ({ options, cookie }) => {
        const body = p.device.get(options, { counter: 50 });
        return (await p.t.call('POST', '/passkeys/sign-in/verify', { body, headers: { cookie } })).status;
      }),
    );
    expect(statuses.sort()).toEqual([200, 401, 401]);
  });

  it('refuses a suspended person like an unknown passkey', async () => {
    const p = await withPasskey(await someone(await shared()));
    const admin = await p.t.admin();
    await p.t.call('PATCH', `/users/${p.id}`, { as: admin, body: { status: 'suspended' } });
    const unknown = new Authenticator();
    unknown.create({ rp: { id: 'localhost' }, user: { id: 'eA' }, challenge: 'eA' });
    const [refused, stranger] = [await signInWithPasskey(p.t, p.device), await signInWithPasskey(p.t, unknown)];
    expect(codeOf(refused)).toEqual(REFUSED);
    expect(refused.body.error.message).toBe(stranger.body.error.message);
    await p.t.call('PATCH', `/users/${p.id}`, { as: admin, body: { status: 'active' } });
    expect((await signInWithPasskey(p.t, p.device)).status).toBe(200);
  });

  it('is not possible once somebody else has first proved the address: others may have added the passkey', async () => {
    const p = await withPasskey(await signedUp(await shared()));
    const { box, t, email } = p;
    await box.next(email);
    await t.call('POST', '/magic-link', { body: { email } });
    const token = /[?&]token=([A-Za-z0-9_-]+)/.exec((await box.next(email)).text)?.[1];
    expect((await t.call('POST', '/magic-link/verify', { body: { token } })).status).toBe(200);
    expect(codeOf(await signInWithPasskey(t, p.device))).toEqual(REFUSED);
  });
});

describe('with configuration', () => {
  it('EMAIL_NOT_VERIFIED where addresses must be verified', async () => {
    const t = await createTestService({ config: { users: { requireEmailVerification: true } } });
    const user = await t.user();
    const device = new Authenticator();
    await passkeyOf(t, user, device);
    expect((await signInWithPasskey(t, device)).status).toBe(200);
    const { write } = t.legate.platform.database;
    await write.updateTable('users').set({ email_verified: 0 }).where('id', '=', user.id).execute();
    expect(codeOf(await signInWithPasskey(t, device))).toEqual([403, 'EMAIL_NOT_VERIFIED']);
  });

  it('a passkey satisfies users.requireSecondFactor, and the password alone cannot replace it', async () => {
    const { box } = await shared();
    const t = await createTestService({ config: { users: { requireSecondFactor: 'all' }, mail: { url: box.url } } });
    const p = await signedUp({ t, box });
    const refused = await t.call('GET', '/passkeys', { as: p.session });
    expect(codeOf(refused)).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    const device = new Authenticator();
    expect((await addPasskey(t, await newSession(t, p.id), device)).status).toBe(201);
    const r = await signInWithPasskey(t, device);
    expect(r.body.secondFactorSetupRequired).toBeUndefined();
    expect((await t.call('GET', '/passkeys', { as: r.body.token })).status).toBe(200);
    expect((await t.call('GET', '/passkeys', { as: p.session })).status).toBe(403);
    const enable = { body: { password: 'correct horse battery' } };
    const stolen = await t.call('POST', '/totp/enable', { as: p.session, ...enable });
    expect(codeOf(stolen)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    expect((await t.call('POST', '/totp/enable', { as: r.body.token, ...enable })).status).toBe(200);
  });

  it('a person with passkeys and no app creates tokens and gives roles only after a recent sign-in', async () => {
    const { box } = await shared();
    const t = await createTestService({ config: { mail: { url: box.url } } });
    const p = await signedUp({ t, box });
    const device = new Authenticator();
    const make = async (as: string) => codeOf(await t.call('POST', '/api-tokens', { as, body: { name: 'ci' } }));
    t.clock.advance(15 * 60_000 + 1);
    expect((await make(p.session))[0]).toBe(201);
    const fresh = await newSession(t, p.id);
    expect((await addPasskey(t, fresh, device)).status).toBe(201);
    const stolen = await t.call('POST', '/api-tokens', { as: p.session, body: { name: 'ci' } });
    expect([...codeOf(stolen), stolen.body.error.details]).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
      { method: 'POST', path: '/passkeys/sign-in/options' },
    ]);
    const page = await t.call('GET', '/account/tokens', { as: p.session, headers: { accept: 'text/html' } });
    expect(page.text).toContain('sign in again with a passkey');
    expect(page.text).toContain('href="/account/sign-in?returnTo=%2Faccount%2Ftokens"');
    expect(page.text).not.toContain('name="lifetime"');
    expect((await make((await signInWithPasskey(t, device)).body.token))[0]).toBe(201);
  });

  it('for a person with passkeys, the password alone changes no credential and creates nothing permanent', async () => {
    const { box } = await shared();
    const t = await createTestService({ config: { mail: { url: box.url } } });
    const p = await signedUp({ t, box });
    const password = 'correct horse battery';
    const signIn = async (): Promise<string> =>
      (await t.call('POST', '/sign-in', { body: { email: p.email, password } })).body.token;
    const pending = await signIn();
    const begun = await t.call('POST', '/totp/enable', { as: pending, body: { password } });
    const device = new Authenticator();
    const added = await addPasskey(t, p.session, device);
    expect(added.status).toBe(201);
    const stolen = await signIn();
    const changes = (as: string) =>
      Promise.all([
        t.call('POST', '/api-tokens', { as, body: { name: 'ci' } }),
        t.call('POST', '/passkeys/register/options', { as }),
        t.call('DELETE', `/passkeys/${added.body.id}`, { as }),
        t.call('POST', '/totp/enable', { as, body: { password } }),
        t.call('POST', '/totp/verify', {
          as,
          body: { code: generateSync({ secret: begun.body.secret, epoch: t.clock.now() / 1000 }) },
        }),
      ]);
    for (const as of [stolen, pending])
      for (const r of await changes(as)) {
        expect(codeOf(r)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
        expect(r.body.error.details).toEqual({ method: 'POST', path: '/passkeys/sign-in/options' });
      }
    const page = await t.call('GET', '/account/passkeys', { as: stolen, headers: { accept: 'text/html' } });
    expect(page.text).toContain('Sign in again with one of your passkeys');
    expect((await t.call('GET', '/auth/session', { as: stolen })).body.user.twoFactorEnabled).toBe(false);
    // The session that added the passkey has proved both factors, as has a session that began with a passkey.
    expect((await t.call('POST', '/api-tokens', { as: p.session, body: { name: 'ci' } })).status).toBe(201);
    const strong = (await signInWithPasskey(t, device)).body.token;
    expect((await addPasskey(t, strong)).status).toBe(201);
    expect((await t.call('DELETE', `/passkeys/${added.body.id}`, { as: strong })).status).toBe(204);
    expect((await t.call('POST', '/totp/enable', { as: strong, body: { password } })).status).toBe(200);
  });

  it('the relying party is the host of the public address', async () => {
    const t = await createTestService({
      config: { baseUrl: 'https://login.example.org', http: { trustedOrigins: [] } },
    });
    const user = await t.user();
    const session = await newSession(t, user.id);
    expect((await registrationOptions(t, session)).rp.id).toBe('login.example.org');
    expect(codeOf(await addPasskey(t, session))).toEqual(REJECTED);
    const device = new Authenticator('https://login.example.org');
    expect((await addPasskey(t, session, device)).status).toBe(201);
    expect((await signInOptions(t)).cookie).toMatch(/^__Host-/);
    expect((await signInWithPasskey(t, device)).status).toBe(200);
  });
});
