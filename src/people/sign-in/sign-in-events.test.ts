import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifiedCosts } from '../../../test/support/cheap-argon2.ts';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';

const password = 'correct horse battery';
let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
let count = 0;

async function person(): Promise<{ t: TestService; id: string; email: string; token: string }> {
  const t = await shared();
  const email = `person${++count}@example.com`;
  const { body } = await t.call('POST', '/sign-up', { body: { email, password } });
  return { t, id: body.user.id, email, token: body.token };
}

describe('the events of a sign-in', () => {
  it('auth.signin and auth.signout name user, session, method and address, and only the user sees them', async () => {
    const { t, id, email, token } = await person();
    const { body } = await t.call('POST', '/sign-in', { body: { email, password }, ip: '198.51.100.7' });
    await t.call('POST', '/sign-out', { as: body.token, ip: '198.51.100.7' });
    const sessionId = (await t.call('GET', '/auth/session', { as: token })).body.session.id;
    const events = (await eventsOf(t)).filter((e) => e.userId === id && e.type.startsWith('auth.'));
    expect(events.map((e) => [e.type, e.data.method, e.data.ipAddress])).toEqual([
      ['auth.signin', 'sign-up', '192.0.2.1'],
      ['auth.signin', 'password', '198.51.100.7'],
      ['auth.signout', events[2]?.data.method, '198.51.100.7'],
    ]);
    expect(events[0]?.data).toMatchObject({ userId: id, sessionId });
    expect(events[2]?.data).toMatchObject({ userId: id, sessionId: events[1]?.data.sessionId });
  });

  it('auth.failed has a hash of the canonical form of the address, and the user if known', async () => {
    const { t, id, email } = await person();
    await t.call('POST', '/sign-in', { body: { email: ` ${email.toUpperCase()}`, password: 'wrong horse' } });
    await t.call('POST', '/sign-in', { body: { email: 'Nobody@Example.com', password } });
    const [known, unknown] = (await eventsOf(t)).filter((e) => e.type === 'auth.failed').slice(-2);
    expect(known).toMatchObject({
      userId: id,
      data: {
        userId: id,
        emailHash: sha256(email),
        method: 'password',
        reason: 'INVALID_EMAIL_OR_PASSWORD',
        ipAddress: '192.0.2.1',
      },
    });
    expect(unknown?.userId).toBeNull();
    expect(unknown?.data).toEqual({
      emailHash: sha256('nobody@example.com'),
      method: 'password',
      reason: 'INVALID_EMAIL_OR_PASSWORD',
      ipAddress: '192.0.2.1',
    });
    expect(JSON.stringify(await eventsOf(t))).not.toContain(password);
  });

  it('one failure a minute per method on unknown accounts is an event, with the count of earlier ones', async () => {
    const t = await createTestService();
    const failures = async () =>
      (await eventsOf(t)).filter((e) => e.type === 'auth.failed').map((e) => [e.data.method, e.data.countedBefore]);
    const attempts = async () => {
      for (let i = 0; i < 5; i++) {
        const email = `nobody${i}@example.com`;
        expect((await t.call('POST', '/sign-in', { body: { email, password } })).status).toBe(401);
        expect((await t.call('POST', '/magic-link/verify', { body: { token: `x${i}` } })).status).toBe(401);
        expect((await t.call('POST', '/email-otp/verify', { body: { email, otp: '123456' } })).status).toBe(401);
      }
    };
    const methods = ['password', 'magic-link', 'email-otp'];
    await attempts();
    expect(await failures()).toEqual(methods.map((method) => [method, undefined]));
    t.clock.advance(59_999);
    await attempts();
    expect(await failures()).toHaveLength(3);
    t.clock.advance(1);
    await attempts();
    expect((await failures()).slice(3)).toEqual(methods.map((method) => [method, 9]));
    // A failure of a known user is always an event.
    await t.call('POST', '/sign-up', { body: { email: 'known@example.com', password } });
    for (let i = 0; i < 3; i++)
      await t.call('POST', '/sign-in', { body: { email: 'known@example.com', password: 'wrong horse' } });
    expect(await failures()).toHaveLength(9);
  });

  it('one failure a minute is an event also after a fast clock was set back', async () => {
    const t = await createTestService();
    const failures = async () => {
      expect((await t.call('POST', '/magic-link/verify', { body: { token: 'x' } })).status).toBe(401);
      return (await eventsOf(t)).filter((e) => e.type === 'auth.failed').length;
    };
    t.clock.advance(86_400_000);
    expect(await failures()).toBe(1);
    t.clock.advance(-86_400_000);
    expect([await failures(), await failures()]).toEqual([2, 2]);
    t.clock.advance(60_000);
    expect(await failures()).toBe(3);
  });

  it('has no client address if multiSession.trackIp is off', async () => {
    const t = await createTestService({ config: { multiSession: { trackIp: false } } });
    await t.call('POST', '/sign-in', { body: { email: 'nobody@example.com', password } });
    expect((await eventsOf(t)).map((e) => [e.type, e.data.ipAddress])).toEqual([['auth.failed', null]]);
    const admin = await t.admin();
    const { body } = await t.call('POST', '/sign-up', { body: { email: 'somebody@example.com', password } });
    const [newest] = (await t.call('GET', '/events?types=user.created', { as: admin })).body;
    expect(newest.actor).toEqual({ kind: 'user', id: body.user.id });
  });

  it.each([false, true])('has the person and the address of a sign-up as actor, verification: %s', async (verify) => {
    const t = await createTestService({ config: { users: { requireEmailVerification: verify } } });
    const admin = await t.admin();
    const from = { body: { email: 'new@example.com', password }, ip: '198.51.100.9' };
    expect((await t.call('POST', '/sign-up', from)).status).toBe(200);
    const of = async (type: string): Promise<Json> =>
      (await t.call('GET', `/events?types=${type}`, { as: admin })).body[0];
    const { userId, actor } = await of('user.created');
    expect(actor).toEqual({ kind: 'user', id: userId, ip: '198.51.100.9' });
    if (!verify) expect(await of('auth.signin')).toMatchObject({ userId, actor });
  });

  it('has even an address that no database can store', async () => {
    const { t } = await person();
    for (const email of ['a\u0000@example.com', '\ud800@example.com', '\udfff', 'x'.repeat(1024)])
      expect((await t.call('POST', '/sign-in', { body: { email, password } })).status).toBe(401);
  });
});

describe('an address in another spelling', () => {
  it('is the same account: case, full-width forms, ligatures, both spellings of an international domain', async () => {
    const t = await shared();
    const body = { email: 'office@bücher.example', password };
    expect((await t.call('POST', '/sign-up', { body })).status).toBe(200);
    for (const email of [
      'OFFICE@BÜCHER.EXAMPLE',
      'o\ufb03ce@bücher.example',
      'ｏｆｆｉｃｅ@bücher.example',
      'office@xn--bcher-kva.example',
      'office@bu\u0308cher.example',
    ]) {
      expect([email, (await t.call('POST', '/sign-in', { body: { email, password } })).status]).toEqual([email, 200]);
      expect([email, (await t.call('POST', '/sign-up', { body: { email, password } })).status]).toEqual([email, 422]);
    }
  });

  it('is another account if written in look-alike letters', async () => {
    const t = await shared();
    expect((await t.call('POST', '/sign-up', { body: { email: 'paypal@example.org', password } })).status).toBe(200);
    for (const email of ['p\u0430ypal@example.org', 'paypa\u0131@example.org']) {
      expect((await t.call('POST', '/sign-in', { body: { email, password } })).status).toBe(401);
      expect((await t.call('POST', '/sign-up', { body: { email, password } })).status).toBe(200);
    }
  });

  it('400 for an address whose canonical form is not an address', async () => {
    const t = await shared();
    for (const email of ['a\uff20b@example.com', 'a@exam\u2024ple..com', 'a\u2100@example.com\uff0c'])
      expect([email, (await t.call('POST', '/sign-up', { body: { email, password } })).status]).toEqual([email, 400]);
  });
});

describe('a password in another spelling', () => {
  it('is the same: composed, decomposed and compatibility forms', async () => {
    const t = await shared();
    const email = 'spelling@example.com';
    expect((await t.call('POST', '/sign-up', { body: { email, password: 'ﬁancé ①②③' } })).status).toBe(200);
    for (const same of ['ﬁancé ①②③', 'fiancé 123', 'fiance\u0301 123', 'ｆｉａｎｃé 123'])
      expect((await t.call('POST', '/sign-in', { body: { email, password: same } })).status).toBe(200);
    expect((await t.call('POST', '/sign-in', { body: { email, password: 'fiance 123' } })).status).toBe(401);
  });
});

describe('deleting a user', () => {
  it('deletes everything that can sign in', async () => {
    const { t, id, email, token } = await person();
    await t.call('POST', '/totp/enable', { as: token, body: { password } });
    await t.call('POST', '/magic-link', { body: { email } });
    await t.call('POST', '/email-otp', { body: { email } });
    await t.legate.platform.background.idle();
    expect((await t.call('DELETE', `/users/${id}`, { as: await t.admin() })).status).toBe(204);
    const { read } = t.legate.platform.database;
    for (const table of [
      'one_time_tokens',
      'email_codes',
      'totp_secrets',
      'backup_codes',
      'trusted_devices',
      'sessions',
    ] as const)
      expect([
        table,
        await read.selectFrom(table).select('user_id').where('user_id', '=', asId('user', id)).execute(),
      ]).toEqual([table, []]);
  });
});

describe('the work of a failed sign-in', () => {
  it('is the same for a wrong or impossible password, an unknown address and a user without a password', async () => {
    const { t, email } = await person();
    const passwordless = await t.user();
    const tries = {
      wrong: { email, password: 'wrong horse battery' },
      unknown: { email: 'nobody@example.com', password },
      none: { email: passwordless.email, password },
      odd: { email, password: '\ud800' },
    };
    for (const [name, body] of Object.entries(tries)) {
      verifiedCosts.length = 0;
      expect((await t.call('POST', '/sign-in', { body })).status).toBe(401);
      // A hash of the usual cost takes nearly all of the time.
      expect([name, verifiedCosts]).toEqual([name, ['m=19456,t=2']]);
    }
  });
});
