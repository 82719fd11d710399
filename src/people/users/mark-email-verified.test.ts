import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { tokenIn } from '../../../test/support/mailbox.ts';
import { register, tokens } from '../../../test/support/oauth.ts';
import {
  eventsAbout,
  form,
  isSignedIn,
  mailedCode,
  mailedToken,
  PASSWORD,
  type Person,
  signedUp,
  signIn,
  verified,
  withMailbox,
} from '../../../test/support/people.ts';
import type { Answered } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';

const shared = withMailbox();
const strict = withMailbox({ config: { users: { requireEmailVerification: true } } });
const NEW = 'a better horse battery';
const permissions = [{ resource: 'db:*', actions: ['read'] }];

/** An account with every credential through which its creator could regain access. */
interface Equipped extends Person {
  readonly apiToken: string;
  readonly agent: { readonly id: string; readonly token: string };
  readonly accessToken: string;
  readonly secret: string;
}

/** Creates everything that anybody can create with somebody else's address. */
async function equip(p: Person): Promise<Equipped> {
  const { t } = p;
  const ok = async (path: string, body: object): Promise<Answered['body']> => {
    const r = await t.call('POST', path, { as: p.session, body });
    expect(r.status, r.text).toBeLessThan(300);
    return r.body;
  };
  const apiToken = (await ok('/api-tokens', { name: 'ci' })).token;
  const agent = await ok('/agents', { ownerId: p.id, name: 'agent', type: 'autonomous', permissions });
  await ok('/webhooks', { url: 'https://hooks.example/in' });
  const grant = await tokens(t, { id: p.id, email: p.email, token: p.session }, await register(t), {
    scope: 'agents:read',
  });
  const { secret } = await ok('/totp/enable', { password: PASSWORD });
  await ok('/totp/verify', { code: generateSync({ secret, epoch: t.clock.now() / 1000 }) });
  t.clock.advance(30_000);
  return { ...p, apiToken, agent, accessToken: grant.access_token, secret };
}

/** For each part, whether it still works. */
async function works(p: Equipped): Promise<Record<string, boolean>> {
  const { t } = p;
  const webhooks = t.legate.platform.database.read.selectFrom('webhooks').select('id').where('user_id', '=', p.id);
  const agents = (await t.call('GET', '/agents', { as: p.accessToken })).status;
  return {
    session: await isSignedIn(p),
    password: (await signIn(p)).status === 200,
    'second factor': (await t.legate.users.get(p.id)).twoFactorEnabled,
    'API token': (await t.call('GET', '/auth/session', { as: p.apiToken })).status === 200,
    'agent token': (await t.authorize(p.agent, { action: 'read', resource: 'db:x' })).status === 200,
    'access token': agents === 200,
    webhook: (await webhooks.execute()).length === 1,
  };
}
const all = (value: boolean): Record<string, boolean> => ({
  session: value,
  password: value,
  'second factor': value,
  'API token': value,
  'agent token': value,
  'access token': value,
  webhook: value,
});

/** The ways to verify an address. `as` is the user with a session at the same time. */
const ways: [string, (p: Person, as?: string) => Promise<Answered>][] = [
  [
    'a magic link',
    async (p, as) =>
      p.t.call('POST', '/magic-link/verify', { as, body: { token: await mailedToken(p, '/magic-link') } }),
  ],
  [
    'a code by e-mail',
    async (p, as) => p.t.call('POST', '/email-otp/verify', { as, body: { email: p.email, otp: await mailedCode(p) } }),
  ],
  [
    'a verification mail',
    async (p, as) =>
      p.t.call('POST', '/verify-email', { as, body: { token: await mailedToken(p, '/verify-email/send') } }),
  ],
];
const resetting = async (p: Person, as?: string): Promise<Answered> =>
  p.t.call('POST', '/password/reset', {
    as,
    body: { token: await mailedToken(p, '/password/forgot'), newPassword: NEW },
  });

describe('the first verification of an address', () => {
  it.each([...ways, ['a password reset', resetting] as const])(
    'by %s ends everything that was created before',
    async (_, prove) => {
      const p = await equip(await signedUp(await shared()));
      expect(await works(p)).toEqual(all(true));
      const open = await mailedToken(p, '/magic-link');
      const r = await prove(p);
      expect(r.status, r.text).toBe(200);
      expect(r.body).not.toHaveProperty('twoFactorRequired');
      expect(await works(p)).toEqual(all(false));
      expect((await p.t.call('POST', '/magic-link/verify', { body: { token: open } })).status).toBe(401);
      expect((await p.t.legate.users.get(p.id)).emailVerified).toBe(true);
      expect((await eventsAbout(p, 'auth.signout')).map((e) => e.data.reason)).toEqual(['address-proved']);
      expect((await eventsAbout(p, 'user.updated')).map((e) => e.data)).toContainEqual({
        userId: p.id,
        changed: ['emailVerified', 'credentials'],
        reason: 'address-proved',
      });
    },
  );

  it('ends the invitations that an administrator sent before, of which the page of a link warns', async () => {
    const p = await signedUp(await shared());
    await p.t.legate.users.update(p.id, { role: 'admin' });
    await p.t.legate.platform.database.write
      .updateTable('users')
      .set({ password_hash: null })
      .where('id', '=', p.id)
      .execute();
    const email = `invited-by-${p.email}`;
    const token = await mailedToken(p, '/magic-link');
    const warns = async (): Promise<boolean> =>
      (await p.t.call('GET', `/magic-link/verify?token=${token}`)).text.includes('set up on it so far');
    expect(await warns()).toBe(false);
    const invited = await p.t.call('POST', '/invites', { as: p.session, body: { email, role: 'admin' } });
    expect(await warns()).toBe(true);
    expect((await p.t.call('POST', '/magic-link/verify', { body: { token } })).status).toBe(200);
    const inviteToken = new URL(invited.body.url).searchParams.get('invite');
    const r = await p.t.call('POST', '/sign-up', { body: { email, password: PASSWORD, inviteToken } });
    expect([r.status, r.body.error?.code]).toEqual([403, 'INVITE_INVALID']);
  });

  it('signs in its owner, who sets a password and controls the agents again', async () => {
    const p = await equip(await signedUp(await shared()));
    const token = await mailedToken(p, '/magic-link');
    const session = (await p.t.call('POST', '/magic-link/verify', { body: { token } })).body.token;
    const fresh = await p.t.call('POST', `/agents/${p.agent.id}/rotate`, { as: session });
    expect((await p.t.authorize(fresh.body.token, { action: 'read', resource: 'db:x' })).body.allowed).toBe(true);
    await resetting(p);
    expect((await signIn(p, NEW)).status).toBe(200);
  });

  it.each(ways)('by %s in a browser that is signed in to the account, ends nothing', async (_, prove) => {
    const p = await equip(await signedUp(await shared()));
    expect((await prove(p, p.session)).status).toBe(200);
    expect(await works(p)).toEqual(all(true));
    expect((await p.t.legate.users.get(p.id)).emailVerified).toBe(true);
  });

  it('accepts the session cookie of a page too', async () => {
    const p = await signedUp(await shared());
    const token = await mailedToken(p, '/magic-link');
    const sent = form({ token });
    const headers = {
      ...sent.headers,
      cookie: `${p.t.database.name}_session=${p.session}`,
      origin: 'http://localhost:3000',
      'sec-fetch-site': 'same-origin',
    };
    expect((await p.t.call('POST', '/magic-link/verify', { ...sent, headers })).status).toBe(200);
    expect([await isSignedIn(p), (await signIn(p)).status]).toEqual([true, 200]);
  });

  it('ignores an API token, a session of another user, and an ended session', async () => {
    const other = await signedUp(await shared());
    const credentials: ((p: Equipped) => string | Promise<string>)[] = [
      (p) => p.apiToken,
      () => other.session,
      async ({ t, session }) => {
        await t.call('POST', '/sign-out', { as: session });
        return session;
      },
    ];
    for (const credential of credentials) {
      const p = await equip(await signedUp(await shared()));
      const as = await credential(p);
      const token = await mailedToken(p, '/verify-email/send');
      expect((await p.t.call('POST', '/verify-email', { as, body: { token } })).status).toBe(200);
      expect(await works(p)).toEqual(all(false));
    }
    expect(await isSignedIn(other)).toBe(true);
  });

  it('later verifications end nothing', async () => {
    const p = await equip(await verified(await signedUp(await shared())));
    for (const [, prove] of ways.slice(0, 2)) expect((await prove(p)).status).toBe(200);
    expect(await works(p)).toEqual(all(true));
  });

  it('a link and the concurrent end of the session end everything', async () => {
    const p = await equip(await signedUp(await shared()));
    const token = await mailedToken(p, '/verify-email/send');
    const { ledger, database } = p.t.legate.platform;
    let answer: Promise<Answered> | undefined;
    await ledger.change(SYSTEM, async (change) => {
      answer = p.t.call('POST', '/verify-email', { as: p.session, body: { token } });
      await change.db.deleteFrom('sessions').where('user_id', '=', p.id).execute();
      change.invalidate();
    });
    expect((await answer)?.status).toBe(200);
    expect(await works(p)).toEqual(all(false));
    expect(await database.read.selectFrom('sessions').select('id').where('user_id', '=', p.id).execute()).toEqual([]);
  });
});

describe('a password reset of a verified account', () => {
  it('ends sessions, API tokens and grants, with a mail; agents, webhooks and the second factor remain', async () => {
    const p = await equip(await verified(await signedUp(await shared())));
    const token = await mailedToken(p, '/password/forgot');
    const page = await p.t.call('POST', '/password/reset', form({ token, newPassword: NEW }));
    for (const ended of ['signed out everywhere', 'API tokens', 'connected applications'])
      expect(page.text).toContain(ended);
    const mail = await p.box.next(p.email);
    for (const ended of ['devices were signed out', 'API tokens', 'connected applications'])
      expect(mail.text).toContain(ended);
    expect(await works(p)).toEqual({
      ...all(false),
      'second factor': true,
      'agent token': true,
      webhook: true,
    });
    expect((await eventsAbout(p, 'grant.revoked')).map((e) => e.data.reason)).toEqual(['credentials-ended']);
    expect((await p.t.call('POST', '/api-tokens', { as: p.apiToken, body: { name: 'more' } })).status).toBe(401);
  });
});

describe('an invitation', () => {
  it('verifies the address: an account that others created in the meantime becomes the invited person’s', async () => {
    const { t, box } = await shared();
    const admin = await t.admin();
    const tenantId = await t.tenant();
    const email = `squatted${Date.now()}@example.com`;
    const invited = await t.call('POST', '/invites', { as: admin, body: { email, role: 'admin', tenantId } });
    const inviteToken = new URL(invited.body.url).searchParams.get('invite');
    await box.next(email);
    const r = await t.call('POST', '/sign-up', { body: { email, password: PASSWORD, name: 'Eve' } });
    const p = await equip({ t, box, email, id: r.body.user.id, session: r.body.token });
    const accepted = await t.call('POST', '/sign-up', { body: { email, password: NEW, name: 'Ada', inviteToken } });
    expect(accepted.body.user).toMatchObject({
      id: p.id,
      name: 'Ada',
      role: 'admin',
      tenantId,
      emailVerified: true,
      twoFactorEnabled: false,
    });
    expect(await works(p)).toEqual(all(false));
    expect((await signIn(p, NEW)).status).toBe(200);
  });
});

describe('where addresses must be verified', () => {
  let count = 0;
  const signUp = async (email: string, password: string): Promise<void> => {
    const { t } = await strict();
    expect((await t.call('POST', '/sign-up', { body: { email, password } })).text).toBe('{"status":true}');
  };
  const EVE = 'the password of Eve';
  const both = async (email: string): Promise<number[]> => {
    const { t } = await strict();
    const statuses = [];
    for (const password of [EVE, PASSWORD])
      statuses.push((await t.call('POST', '/sign-in', { body: { email, password } })).status);
    return statuses;
  };
  const verify = async (token: string) => (await strict()).t.call('POST', '/verify-email', form({ token }));
  const address = () => `strict-proof${++count}@example.com`;

  it('a magic link does not confirm the password of somebody else’s sign-up', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email, EVE);
    await box.next(email);
    await t.call('POST', '/magic-link', { body: { email } });
    await t.call('POST', '/magic-link/verify', { body: { token: tokenIn(await box.next(email)) } });
    expect(await both(email)).toEqual([401, 401]);
  });

  it('a new link confirms no password after a second sign-up, and the page links to another one', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email, EVE);
    await signUp(email, PASSWORD);
    await Promise.all([box.next(email), box.next(email)]);
    await t.call('POST', '/verify-email/send', { body: { email } });
    const page = await verify(tokenIn(await box.next(email)));
    expect(page.text).toContain('href="/account/forgot-password"');
    expect(await both(email)).toEqual([401, 401]);
  });

  it('a new link confirms the password of the only sign-up', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email, PASSWORD);
    await box.next(email);
    await t.call('POST', '/verify-email/send', { body: { email } });
    const page = await verify(tokenIn(await box.next(email)));
    expect(page.text).not.toContain('forgot-password');
    expect(await both(email)).toEqual([401, 200]);
  });

  it('each sign-up with an address gets a mail that confirms its own password', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email, EVE);
    for (let i = 0; i < 11; i++) {
      await signUp(email, EVE);
      await t.call('POST', '/verify-email/send', { body: { email } });
    }
    for (let i = 0; i < 23; i++) await box.next(email);
    await signUp(email, PASSWORD);
    const own = tokenIn(await box.next(email));
    for (let i = 0; i < 11; i++) {
      await signUp(email, EVE);
      await t.call('POST', '/verify-email/send', { body: { email } });
    }
    expect((await verify(own)).status).toBe(200);
    expect(await both(email)).toEqual([401, 200]);
  });

  it('the person is found by the name of that sign-up', async () => {
    const { t, box } = await strict();
    const email = address();
    const named = (name: string) => t.call('POST', '/sign-up', { body: { email, password: PASSWORD, name } });
    await named('Mallory');
    await box.next(email);
    await named('Ada');
    expect((await verify(tokenIn(await box.next(email)))).status).toBe(200);
    const admin = await t.admin();
    const found = async (q: string) =>
      (await t.call('GET', `/users?${new URLSearchParams({ q, email })}`, { as: admin })).body.map(
        ({ name }: { name: string }) => name,
      );
    expect([await found('ada'), await found('mallory')]).toEqual([['Ada'], []]);
  });

  it('keeps at most ten requested links valid: a new one replaces the oldest', async () => {
    const { t, box } = await strict();
    const email = address();
    await signUp(email, PASSWORD);
    await box.next(email);
    const links: string[] = [];
    for (let i = 0; i < 11; i++) {
      t.clock.advance(1000);
      await t.call('POST', '/verify-email/send', { body: { email } });
      links.push(tokenIn(await box.next(email)));
    }
    const peek = async (token: string) => (await t.call('GET', `/verify-email?token=${token}`)).status;
    expect([await peek(links[0] as string), await peek(links[1] as string), await peek(links[10] as string)]).toEqual([
      401, 200, 200,
    ]);
  });
});
