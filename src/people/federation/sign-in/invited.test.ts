import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import { eventsOf } from '../../../../test/support/events.ts';
import {
  begin,
  CLIENT,
  callback,
  openPretendedProvider,
  type PretendedProvider,
  signInWith,
} from '../../../../test/support/identity-provider.ts';
import { PASSWORD } from '../../../../test/support/people.ts';
import {
  createTestService,
  type Json,
  type TestOptions,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';
import { asId } from '../../../kernel/ids.ts';

let t: TestService;
let admin: TestUser;
let provider: PretendedProvider;
let people = 0;

const serve = (users: NonNullable<TestOptions['config']>['users'], more: Json = {}) =>
  createTestService({
    lasting: true,
    config: {
      federation: { allowPrivateNetworks: true },
      users: { passwords: 'off', signUp: 'invite', ...users },
      issuers: [
        {
          name: 'acme',
          issuer: provider.address,
          uses: ['signIn' as const],
          ...CLIENT,
          domains: ['acme.com'],
          ...more,
        },
      ],
    },
  });

beforeAll(async () => {
  provider = await openPretendedProvider();
  t = await serve({});
  admin = await t.admin();
});

const address = (): string => `invited-${++people}@acme.com`;
async function invite(email: string, more: Json = {}, on = t, by = admin): Promise<Json> {
  const r = await on.call('POST', '/invites', { as: by, body: { email, ...more } });
  expect(r.status).toBe(201);
  return r.body;
}
const claims = (email: string, more: Json = {}, on = t) => {
  const now = Math.floor(on.clock.now() / 1000);
  const sub = `person-${++people}`;
  provider.idToken = (nonce) =>
    provider.sign({
      sub,
      email,
      email_verified: true,
      aud: CLIENT.clientId,
      iat: now,
      exp: now + 300,
      nonce,
      ...more,
    });
};
/** Returns the user, or the status of a refusal. */
async function signIn(email: string, more: Json = {}, on = t): Promise<Json | number> {
  claims(email, more, on);
  const browser = new FormClient(on);
  const { status } = await signInWith(browser, 'acme');
  return status === 303 ? (await browser.get('/auth/session')).body.user : status;
}
const isOpen = async (email: string, on = t, by = admin): Promise<boolean> =>
  (await on.call('GET', '/invites', { as: by })).body.some((each: Json) => each.email === email);

describe('the first sign-in of an invited person with an identity provider', () => {
  it('creates the account with role and tenant of the invitation, and uses the invitation up', async () => {
    const email = address();
    const tenantId = await t.tenant();
    const { id: inviteId } = await invite(email, { role: 'auditor', tenantId });
    const sub = 'somebody who comes again';
    const user = (await signIn(email.toUpperCase(), { sub, name: 'Ada' })) as Json;
    expect(user).toMatchObject({ role: 'auditor', tenantId, emailVerified: true, name: 'Ada' });
    expect(await isOpen(email)).toBe(false);
    expect(await signIn(email, { sub })).toMatchObject({ id: user.id, role: 'auditor' });
    const events = (await eventsOf(t)).filter(({ data }) => data.userId === user.id || data.inviteId === inviteId);
    expect(events.map(({ type }) => type)).toEqual([
      'invite.created',
      'user.created',
      'invite.accepted',
      'user.updated',
      'auth.signin',
      'auth.signin',
    ]);
    expect(events[2]).toMatchObject({ userId: admin.id, data: { inviteId, userId: user.id, role: 'auditor' } });
  });

  it.each<[string, (email: string) => [string, Json?]]>([
    ['for another address', () => [address()]],
    ['for an address that the provider has not verified', (email) => [email, { email_verified: false }]],
    ['for an address without email_verified', (email) => [email, { email_verified: undefined }]],
    ['for no address', (email) => [email, { email: undefined }]],
  ])('is refused %s, and the invitation stays open', async (_, who) => {
    const email = address();
    await invite(email);
    expect(await signIn(...who(email))).toBe(403);
    expect(await isOpen(email)).toBe(true);
    expect(await signIn(email)).toMatchObject({ email });
  });

  it('is refused for a domain for which the provider may not vouch', async () => {
    const email = 'invited@elsewhere.example';
    await invite(email);
    expect(await signIn(email)).toBe(403);
    expect(await isOpen(email)).toBe(true);
  });

  it('is refused when the invitation is withdrawn or older than 7 days, or its inviter may not invite', async () => {
    const [withdrawn, old, ofNobody] = [address(), address(), address()];
    const { id } = await invite(withdrawn);
    expect((await t.call('DELETE', `/invites/${id}`, { as: admin })).status).toBe(204);
    expect(await signIn(withdrawn)).toBe(403);
    const inviter = await t.admin();
    await invite(ofNobody, { role: 'admin' }, t, inviter);
    const { write } = t.legate.platform.database;
    await write.updateTable('users').set({ role: 'user' }).where('id', '=', asId('user', inviter.id)).execute();
    expect(await signIn(ofNobody)).toBe(403);
    expect(await isOpen(ofNobody)).toBe(true);
    await invite(old);
    t.clock.advance(7 * 86_400_000);
    expect(await signIn(old)).toBe(403);
  });

  it('uses an invitation once, also with concurrent sign-ins of several people', async () => {
    const email = address();
    await invite(email);
    const browsers = Array.from({ length: 5 }, () => new FormClient(t));
    const paths: string[] = [];
    for (const browser of browsers) paths.push(callback('acme', await begin(browser, 'acme')));
    const subjects = paths.map((_, i) => `rival-${i}`);
    const now = Math.floor(t.clock.now() / 1000);
    const base = { email, email_verified: true, aud: CLIENT.clientId, iat: now, exp: now + 300 };
    provider.idToken = (nonce) => provider.sign({ ...base, sub: subjects.pop() as string, nonce });
    const answers = await Promise.all(browsers.map((browser, i) => browser.get(paths[i] ?? '')));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403, 403]);
  });

  it('leaves roles and tenants to the map of the provider, and does not need users.provision', async () => {
    const map = [{ claim: 'groups', value: 'admins', role: 'admin' as const }];
    const mapped = await serve({ provision: true }, { map });
    const by = await mapped.admin();
    const tenantId = await mapped.tenant();
    const [plain, chief] = [address(), address()];
    await invite(plain, { role: 'admin', tenantId }, mapped, by);
    await invite(chief, {}, mapped, by);
    expect(await signIn(plain, {}, mapped)).toMatchObject({ role: 'user', tenantId });
    expect(await signIn(chief, { groups: ['admins'] }, mapped)).toMatchObject({ role: 'admin', tenantId: null });
    expect(await isOpen(plain, mapped, by)).toBe(false);
  });

  it('does not use the invitation where an account has the address, or sign-up is closed', async () => {
    const email = address();
    await invite(email);
    const { id } = await t.legate.users.create({ email, password: PASSWORD });
    expect(await signIn(email)).toBe(403);
    const { write } = t.legate.platform.database;
    await write.updateTable('users').set({ email_verified: 1 }).where('id', '=', asId('user', id)).execute();
    expect(await signIn(email)).toMatchObject({ id, role: 'user' });
    expect(await isOpen(email)).toBe(true);

    const closed = await serve({ signUp: 'closed' });
    const other = address();
    const [row] = await t.legate.platform.database.read.selectFrom('invites').selectAll().execute();
    const { write: there } = closed.legate.platform.database;
    const [email_key, expires_at] = [other, closed.clock.now() + 60_000];
    await there
      .insertInto('invites')
      .values({ ...(row as NonNullable<typeof row>), email: other, email_key, expires_at, tenant_id: null })
      .execute();
    expect(await signIn(other, {}, closed)).toBe(403);
  });
});

describe('the page of an invitation', () => {
  const pageOf = (url: string, on = t, more = '') => {
    const { pathname, search } = new URL(url);
    return new FormClient(on).get(pathname + search + more);
  };
  const START = '/auth/oidc/acme/start';

  it('offers the provider instead of a form where passwords are off', async () => {
    const email = address();
    const { url } = await invite(email, { role: 'admin' });
    const page = await pageOf(url);
    expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
    expect(page.text).toContain(`You are invited as ${email}.`);
    expect(page.text).toContain(`href="${START}"`);
    expect(page.text).not.toContain('name="password"');
    expect((await pageOf(url, t, '&lang=de')).text).toContain(`Sie sind mit der Adresse ${email} eingeladen.`);
    const { pathname, search } = new URL(url);
    const sent = await new FormClient(t).post(pathname + search, { email, password: PASSWORD });
    expect([sent.status, sent.text.includes(START), sent.text.includes('name="password"')]).toEqual([403, true, false]);
    expect(await isOpen(email)).toBe(true);
  });

  it('offers a form to invited administrators only, where only they have passwords', async () => {
    const some = await serve({ passwords: 'adminsOnly' });
    const by = await some.admin();
    for (const [role, has] of [
      ['user', false],
      ['auditor', false],
      ['admin', true],
    ] as const) {
      const page = await pageOf((await invite(address(), { role }, some, by)).url, some);
      expect([role, page.text.includes('name="password"'), page.text.includes(START)]).toEqual([role, has, true]);
    }
  });

  it('offers both where passwords are on, and no provider that may not vouch for the address', async () => {
    const on = await serve({ passwords: 'on' });
    const by = await on.admin();
    const page = await pageOf((await invite(address(), {}, on, by)).url, on);
    expect([page.text.includes('name="password"'), page.text.includes(START)]).toEqual([true, true]);
    const other = await pageOf((await invite('x@elsewhere.example', {}, on, by)).url, on);
    expect([other.text.includes('name="password"'), other.text.includes(START)]).toEqual([true, false]);
    const none = await pageOf((await invite('y@elsewhere.example')).url);
    expect(none.text).toContain('no identity provider is set up for this address');
    expect(none.text).not.toMatch(/name="password"|oidc/);
  });

  it('is refused without a valid invitation', async () => {
    const { url, id } = await invite(address());
    await t.call('DELETE', `/invites/${id}`, { as: admin });
    for (const path of [
      url,
      'http://x/account/sign-up?invite=x',
      `http://x/account/sign-up?invite=lgo_${'x'.repeat(49)}`,
    ]) {
      const page = await pageOf(path);
      expect([page.status, page.text.includes('This invitation is no longer valid')]).toEqual([403, true]);
    }
  });
});
