import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { Authenticator, addPasskey, newSession, registrationOptions } from '../../../../test/support/authenticator.ts';
import { codeOf } from '../../../../test/support/passkeys.ts';
import { PASSWORD } from '../../../../test/support/people.ts';
import { createTestService, type TestOptions, type TestService } from '../../../../test/support/service.ts';

const QUARTER_MS = 15 * 60_000;
type Users = NonNullable<NonNullable<TestOptions['config']>['users']>;

const serve = (users: Users) => createTestService({ config: { users: { requireSecondFactor: 'all', ...users } } });
let people = 0;
/** A person with a password, in a session that was begun another way. */
async function withPassword(t: TestService, role: 'user' | 'admin' = 'user') {
  const { id } = await t.legate.users.create({ email: `enrolling${++people}@example.com`, password: PASSWORD, role });
  return { id, session: await newSession(t, id) };
}
async function withoutPassword(t: TestService) {
  const { id } = await t.user();
  return { id, session: await newSession(t, id) };
}
const statusOf = async (t: TestService, as: string) => (await t.call('GET', '/agents', { as })).status;
const enable = (t: TestService, as: string, body: object = {}) => t.call('POST', '/totp/enable', { as, body });
const REQUIRED = [403, 'SECOND_FACTOR_REQUIRED'];
const TOO_OLD = [403, 'REAUTHENTICATION_REQUIRED'];

describe('a person who must set up a second factor', () => {
  it('adds a passkey, after which the session has all rights', async () => {
    const t = await serve({ passwords: 'off' });
    const { session } = await withoutPassword(t);
    expect(await statusOf(t, session)).toBe(403);
    const device = new Authenticator();
    expect((await addPasskey(t, session, device)).status).toBe(201);
    expect(await statusOf(t, session)).toBe(200);
    expect((await addPasskey(t, session)).status).toBe(201);
  });

  it('needs a sign-in within the last 15 minutes for both steps, and a valid answer', async () => {
    const t = await serve({});
    const { session } = await withoutPassword(t);
    expect(codeOf(await addPasskey(t, session, undefined, { uv: false }))).toEqual([422, 'PASSKEY_REJECTED']);
    expect(await statusOf(t, session)).toBe(403);
    const answer = new Authenticator().create(await registrationOptions(t, session));
    t.clock.advance(QUARTER_MS + 1);
    for (const [step, body] of [
      ['options', {}],
      ['verify', answer],
    ] as const)
      expect(codeOf(await t.call('POST', `/passkeys/register/${step}`, { as: session, body }))).toEqual(TOO_OLD);
  });

  it('cannot add a passkey with one factor when the account has a second one', async () => {
    const t = await serve({});
    const { id, session } = await withoutPassword(t);
    const weak = await newSession(t, id);
    const answer = new Authenticator().create(await registrationOptions(t, weak));
    expect((await addPasskey(t, session)).status).toBe(201);
    // The passkey was added between the two steps.
    const late = await t.call('POST', '/passkeys/register/verify', { as: weak, body: answer });
    expect(codeOf(late)).toEqual(TOO_OLD);
    expect(late.body.error.details.path).toBe('/passkeys/sign-in/options');
    expect(codeOf(await t.call('POST', '/passkeys/register/options', { as: weak }))).toEqual(TOO_OLD);
    expect(codeOf(await enable(t, weak))).toEqual(TOO_OLD);
    expect(codeOf(await t.call('GET', '/passkeys', { as: weak }))).toEqual(REQUIRED);
    const [passkey] = (await t.call('GET', '/passkeys', { as: session })).body;
    expect(codeOf(await t.call('DELETE', `/passkeys/${passkey.id}`, { as: weak }))).toEqual(REQUIRED);
  });

  it.each<[string, Users, (t: TestService) => Promise<{ session: string }>]>([
    ['the account has no password', {}, withoutPassword],
    ['passwords are switched off', { passwords: 'off' }, withPassword],
    ['only administrators have passwords', { passwords: 'adminsOnly' }, withPassword],
  ])('sets up an app without a password if %s, and switches it off with a code', async (_, users, make) => {
    const t = await serve(users);
    const { session } = await make(t);
    const late = await make(t);
    const begun = await enable(t, session);
    expect(begun.status).toBe(200);
    const code = () => {
      t.clock.advance(30_000);
      return generateSync({ secret: begun.body.secret, epoch: t.clock.now() / 1000 });
    };
    expect(codeOf(await t.call('POST', '/totp/verify', { as: late.session, body: { code: code() } }))).toEqual([
      409,
      'TOTP_NOT_SET_UP',
    ]);
    expect((await t.call('POST', '/totp/verify', { as: session, body: { code: code() } })).status).toBe(200);
    expect(await statusOf(t, session)).toBe(200);
    expect(codeOf(await enable(t, session))).toEqual([409, 'TOTP_ALREADY_ENABLED']);
    const disable = (body: object) => t.call('POST', '/totp/disable', { as: session, body });
    expect(codeOf(await disable({}))).toEqual([401, 'INVALID_CODE']);
    expect(codeOf(await disable({ code: '000000' }))).toEqual([401, 'INVALID_CODE']);
    expect((await disable({ code: code() })).status).toBe(200);
    expect(await statusOf(t, session)).toBe(403);

    t.clock.advance(QUARTER_MS);
    const refused = await enable(t, late.session);
    expect([...codeOf(refused), refused.body.error.details.path]).toEqual([...TOO_OLD, '/sign-in']);
  });

  it('sends the password where there is one that can be used', async () => {
    for (const [passwords, role] of [
      ['on', 'user'],
      ['adminsOnly', 'admin'],
    ] as const) {
      const t = await serve({ passwords });
      const { session } = await withPassword(t, role);
      for (const path of ['/totp/enable', '/totp/disable']) {
        // A second factor that is not set up is not switched off either.
        if (path === '/totp/disable') expect((await addPasskey(t, session)).status).toBe(201);
        const without = await t.call('POST', path, { as: session, body: {} });
        expect(codeOf(without)).toEqual([400, 'VALIDATION_FAILED']);
        expect(without.body.error.details.issues).toEqual([{ path: 'password', message: expect.any(String) }]);
      }
      for (const body of [{ password: 5 }, { password: null }, { password: PASSWORD, more: 1 }, []])
        expect(codeOf(await enable(t, session, body))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await enable(t, session, { password: '' }))).toEqual([401, 'INVALID_PASSWORD']);
      expect((await enable(t, session, { password: PASSWORD })).status).toBe(200);
    }
  });

  it('has no password that is right if the account has none, and needs a session', async () => {
    const t = await serve({ requireSecondFactor: 'none' });
    const { session } = await withoutPassword(t);
    expect(codeOf(await enable(t, session, { password: PASSWORD }))).toEqual([401, 'INVALID_PASSWORD']);
    const { token } = (await t.call('POST', '/api-tokens', { as: session, body: { name: 'ci' } })).body;
    expect(codeOf(await enable(t, token))).toEqual([403, 'FORBIDDEN']);
    expect(codeOf(await t.call('POST', '/totp/enable', { body: {} }))).toEqual([401, 'UNAUTHORIZED']);
  });
});
