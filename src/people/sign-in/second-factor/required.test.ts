import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { createTestService, type TestOptions, type TestService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';

const password = 'correct horse battery';
const MINUTE = 60_000;

interface Person {
  readonly t: TestService;
  readonly id: string;
  readonly email: string;
  readonly session: string;
}

const serve = (users: NonNullable<TestOptions['config']>['users'] = {}) => createTestService({ config: { users } });
let count = 0;
async function person(t: TestService, role: 'user' | 'admin' = 'user'): Promise<Person> {
  const email = `someone${++count}@example.com`;
  const { id } = await t.legate.users.create({ email, password, role });
  const r = await t.call('POST', '/sign-in', { body: { email, password } });
  expect(r.status).toBe(200);
  return { t, id, email, session: r.body.token };
}
const codeNow = (t: TestService, secret: string): string => {
  t.clock.advance(30_000);
  return generateSync({ secret, epoch: t.clock.now() / 1000 });
};
const verify = (p: Person, code: string, as = p.session) => p.t.call('POST', '/totp/verify', { as, body: { code } });
async function enrol(p: Person): Promise<{ secret: string; backupCodes: string[] }> {
  const begun = await p.t.call('POST', '/totp/enable', { as: p.session, body: { password } });
  expect(begun.status).toBe(200);
  expect((await verify(p, codeNow(p.t, begun.body.secret))).status).toBe(200);
  return begun.body;
}
const disable = (p: Person, body: object, as = p.session) => p.t.call('POST', '/totp/disable', { as, body });

describe('users.requireSecondFactor', () => {
  it('a person without one can set it up and sign out, and nothing else; afterwards everything', async () => {
    const t = await serve({ requireSecondFactor: 'all' });
    const p = await person(t);
    const again = await t.call('POST', '/sign-in', { body: { email: p.email, password } });
    expect(again.body).toMatchObject({ secondFactorSetupRequired: true, user: { twoFactorEnabled: false } });
    const calls: [string, string, object?][] = [
      ['GET', '/agents'],
      ['POST', '/agents', { ownerId: p.id, name: 'a', type: 'autonomous' }],
      ['POST', '/authorize', { agentId: 'agt_x', action: 'read', resource: 'x' }],
      ['POST', '/api-tokens', { name: 'ci' }],
      ['POST', '/password/change', { currentPassword: password, newPassword: 'another horse battery' }],
      ['GET', '/auth/sessions'],
      ['POST', '/totp/disable', { password }],
    ];
    for (const [method, path, body] of calls) {
      const r = await t.call(method, path, { as: p.session, ...(body ? { body } : {}) });
      expect([path, r.status, r.body?.error?.code]).toEqual([path, 403, 'SECOND_FACTOR_REQUIRED']);
    }
    expect((await t.call('GET', '/auth/session', { as: p.session })).status).toBe(200);
    expect((await t.call('POST', '/sign-out', { as: again.body.token })).status).toBe(204);
    await enrol(p);
    expect((await t.call('GET', '/agents', { as: p.session })).status).toBe(200);
    expect((await t.call('POST', '/authorize', { as: p.session, body: calls[2]?.[2] })).status).toBe(404);
  });

  it('admins: applies to administrators and to users who become one; none: does not apply', async () => {
    const t = await serve({ requireSecondFactor: 'admins' });
    const [user, admin] = [await person(t), await person(t, 'admin')];
    const users = (p: Person) => t.call('GET', '/agents', { as: p.session });
    expect([(await users(user)).status, (await users(admin)).status]).toEqual([200, 403]);
    await t.legate.users.update(user.id, { role: 'admin' });
    expect((await users(user)).body.error.code).toBe('SECOND_FACTOR_REQUIRED');
    const open = await serve();
    expect((await open.call('GET', '/users', { as: (await person(open, 'admin')).session })).status).toBe(200);
  });

  it('API tokens keep working, and so do administrators with a second factor', async () => {
    const t = await serve({ requireSecondFactor: 'all' });
    expect((await t.call('GET', '/users', { as: await t.admin() })).status).toBe(200);
    const admin = await person(t, 'admin');
    await enrol(admin);
    expect((await t.call('GET', '/users', { as: admin.session })).status).toBe(200);
  });
});

describe('POST /totp/disable', () => {
  it('requires a code in addition to the password, and counts wrong ones', async () => {
    const p = await person(await serve());
    const { secret, backupCodes } = await enrol(p);
    const without = await disable(p, { password });
    expect([without.status, without.body.error.code]).toEqual([401, 'INVALID_CODE']);
    const wrong = await disable(p, { password: 'wrong horse', code: codeNow(p.t, secret) });
    expect(wrong.body.error.code).toBe('INVALID_PASSWORD');
    for (let i = 0; i < 10; i++)
      expect((await disable(p, { password, code: 'aaaaa-aaaaa' })).body.error.code).toBe('INVALID_CODE');
    expect((await disable(p, { password, code: backupCodes[0] })).body.error.code).toBe('TOO_MANY_TRIES');
    expect((await p.t.call('GET', '/auth/session', { as: p.session })).body.user.twoFactorEnabled).toBe(true);
    expect((await disable(p, { password, code: codeNow(p.t, secret) })).status).toBe(200);
    expect((await p.t.call('GET', '/auth/session', { as: p.session })).body.user.twoFactorEnabled).toBe(false);
  });
});

describe('a recent proof of the second factor', () => {
  let issuers = 0;
  const newIssuer = () => ({
    name: `issuer-${++issuers}`,
    issuer: `https://issuer-${issuers}.example`,
    uses: ['workload'],
  });
  const steps = (other: string, issuerId: string): [string, string, object?][] => [
    ['POST', '/issuers', newIssuer()],
    ['PATCH', `/issuers/${issuerId}`, { name: `renamed-${issuers}` }],
    ['POST', '/api-tokens', { name: 'ci' }],
    ['PATCH', `/users/${other}`, { role: 'admin' }],
    ['POST', '/invites', { email: 'invited@example.com', role: 'admin' }],
    ['POST', '/invites', { email: 'invited@example.com', role: 'auditor' }],
    ['DELETE', `/users/${other}/second-factor`],
  ];

  it('403 REAUTHENTICATION_REQUIRED after 15 minutes, until the person sends a code', async () => {
    const t = await serve();
    const [admin, other] = [await person(t, 'admin'), await person(t)];
    const { id: issuerId } = (await t.call('POST', '/issuers', { as: admin.session, body: newIssuer() })).body;
    const { secret } = await enrol(admin);
    const all = async () => {
      const answers = [];
      for (const [method, path, body] of steps(other.id, issuerId))
        answers.push(await t.call(method, path, { as: admin.session, ...(body ? { body } : {}) }));
      return answers;
    };
    expect((await all()).map((r) => r.status)).toEqual([201, 200, 201, 200, 201, 201, 204]);
    t.clock.advance(15 * MINUTE + 1);
    for (const r of await all())
      expect([r.status, r.body.error.code, r.body.error.details]).toEqual([
        403,
        'REAUTHENTICATION_REQUIRED',
        { method: 'POST', path: '/totp/verify' },
      ]);
    expect((await t.call('PATCH', `/users/${other.id}`, { as: admin.session, body: { name: 'Eve' } })).status).toBe(
      200,
    );
    const plain = { email: 'plain@example.com', role: 'user' };
    expect((await t.call('POST', '/invites', { as: admin.session, body: plain })).status).toBe(201);
    expect((await verify(admin, 'aaaaa-aaaaa')).status).toBe(401);
    expect((await all()).map((r) => r.status)).toEqual([403, 403, 403, 403, 403, 403, 403]);
    expect((await verify(admin, codeNow(t, secret))).status).toBe(200);
    expect((await all()).map((r) => r.status)).toEqual([201, 200, 201, 200, 201, 201, 204]);
  });

  it('lasts 15 minutes also while the time of the ledger is ahead of the clock', async () => {
    const t = await serve();
    const withApp = await person(t);
    t.clock.advance(24 * 60 * MINUTE);
    await person(t);
    t.clock.advance(-24 * 60 * MINUTE);
    await enrol(withApp);
    const withPassword = await person(t);
    const changes = async () => [
      (await t.call('POST', '/api-tokens', { as: withApp.session, body: { name: 'ci' } })).status,
      (await t.call('POST', '/passkeys/register/options', { as: withPassword.session, body: {} })).status,
    ];
    expect(await changes()).toEqual([201, 200]);
    t.clock.advance(15 * MINUTE + 1);
    expect(await changes()).toEqual([403, 403]);
  });

  it('is not given by a trusted device, and counts only for the session that sent the code', async () => {
    const t = await serve();
    const p = await person(t);
    const { secret } = await enrol(p);
    const step = await t.call('POST', '/sign-in', { body: { email: p.email, password } });
    const trusted = await t.call('POST', '/totp/verify', {
      body: { code: codeNow(t, secret), twoFactorToken: step.body.twoFactorToken, trustDevice: true },
    });
    const cookie = trusted.headers
      .getSetCookie()
      .map((c) => c.split(';')[0])
      .join('; ');
    const r = await t.call('POST', '/sign-in', {
      body: { email: p.email, password },
      headers: { cookie: cookie.replace(/^[^;]*; /, '') },
    });
    const make = (as: string) => t.call('POST', '/api-tokens', { as, body: { name: 'ci' } });
    expect((await make(r.body.token)).body.error.code).toBe('REAUTHENTICATION_REQUIRED');
    expect((await make(trusted.body.token)).status).toBe(201);
    expect((await verify(p, codeNow(t, secret), r.body.token)).status).toBe(200);
    expect((await make(r.body.token)).status).toBe(201);
  });

  it('is not given by a session that began with the password alone, before the second factor', async () => {
    const t = await serve();
    const p = await person(t);
    const stolen = (await t.call('POST', '/sign-in', { body: { email: p.email, password } })).body.token;
    const { secret } = await enrol(p);
    const make = (as: string) => t.call('POST', '/api-tokens', { as, body: { name: 'ci' } });
    const addPasskey = (as: string) => t.call('POST', '/passkeys/register/options', { as, body: {} });
    for (const r of [await make(stolen), await addPasskey(stolen)])
      expect([r.status, r.body.error?.details]).toEqual([403, { method: 'POST', path: '/totp/verify' }]);
    expect([(await make(p.session)).status, (await addPasskey(p.session)).status]).toEqual([201, 200]);
    expect((await verify(p, codeNow(t, secret), stolen)).status).toBe(200);
    expect([(await make(stolen)).status, (await addPasskey(stolen)).status]).toEqual([201, 200]);
  });

  it('is not required of a person without a second factor, nor of an API token', async () => {
    const t = await serve();
    const [admin, other] = [await person(t, 'admin'), await person(t)];
    t.clock.advance(60 * MINUTE);
    expect((await t.call('POST', '/api-tokens', { as: admin.session, body: { name: 'ci' } })).status).toBe(201);
    const { token } = (await t.call('POST', '/api-tokens', { as: admin.session, body: { name: 'ci' } })).body;
    const { id: issuerId } = (await t.call('POST', '/issuers', { as: token, body: newIssuer() })).body;
    await enrol(admin);
    t.clock.advance(60 * MINUTE);
    for (const [method, path, body] of steps(other.id, issuerId))
      expect((await t.call(method, path, { as: token, ...(body ? { body } : {}) })).status).toBeLessThan(300);
  });
});

describe('session times', () => {
  it('are set by the configuration', async () => {
    const t = await createTestService({ config: { multiSession: { idleTtl: 600, absoluteTtl: 1500 } } });
    const signUp = await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password } });
    expect(signUp.headers.getSetCookie()[0]).toContain('Max-Age=1500');
    const alive = async (session: string) => (await t.call('GET', '/auth/session', { as: session })).status === 200;
    const session = signUp.body.token;
    for (let i = 0; i < 2; i++) {
      t.clock.advance(9 * MINUTE);
      expect(await alive(session)).toBe(true);
      // The use is recorded after the response.
      await until(
        async () => {
          const rows = await t.legate.platform.database.read.selectFrom('sessions').select('last_used_at').execute();
          return rows.some((row) => row.last_used_at >= t.clock.now());
        },
        { timeout: 60_000 },
      );
    }
    t.clock.advance(8 * MINUTE);
    expect(await alive(session)).toBe(false);
    const idle = (await t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } })).body.token;
    t.clock.advance(10 * MINUTE);
    expect(await alive(idle)).toBe(false);
  });
});
