import { generateSync } from 'otplib';
import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import {
  CLIENT,
  callback,
  createProvisioningService,
  openPretendedProvider,
  type PretendedProvider,
  registerProvider,
  signInWith,
} from '../../../../test/support/identity-provider.ts';
import type { Answered, Json, TestService, TestUser } from '../../../../test/support/service.ts';

let t: TestService;
let admin: TestUser;
let provider: PretendedProvider;
/** The registered issuer. */
let issuer: Json;
let count = 0;

beforeAll(async () => {
  t = await createProvisioningService();
  admin = await t.admin();
});

async function register(more: Json = {}): Promise<void> {
  provider = await openPretendedProvider();
  issuer = await registerProvider(t, admin, `provider-${++count}`, provider, more);
}

const newPerson = (more: Json = {}): Json => {
  const sub = `person-${++count}`;
  return { sub, email: `${sub}@example.com`, email_verified: true, ...more };
};
/** Lets the provider confirm a person, after something else has happened. */
function confirm(claims: Json, before: () => Promise<unknown> = async () => undefined): void {
  provider.idToken = async (nonce) => {
    await before();
    const iat = Math.floor(t.clock.now() / 1000);
    return provider.sign({ aud: CLIENT.clientId, iat, exp: iat + 300, nonce, ...claims });
  };
}
const userOf = async (browser: FormClient): Promise<Json | undefined> => (await browser.get('/auth/session')).body.user;
const sessionsOf = async (claims: Json): Promise<number> => {
  const rows = await t.legate.platform.database.read
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select('sessions.id')
    .where('users.email', '=', claims['email'])
    .execute();
  return rows.length;
};
const change = (body: Json): Promise<Answered> => t.call('PATCH', `/issuers/${issuer['id']}`, { as: admin, body });
const remove = (): Promise<Answered> => t.call('DELETE', `/issuers/${issuer['id']}`, { as: admin });
async function replace(): Promise<Answered> {
  const removed = await remove();
  await registerProvider(t, admin, issuer['name'], provider);
  return removed;
}
const ways: [string, () => Promise<Answered>][] = [
  ['is deleted', remove],
  ['may no longer sign people in', () => change({ uses: ['workload'], audience: 'https://legate.example' })],
  ['is deleted and registered again', replace],
];

describe.each(ways)('an issuer that %s meanwhile', (_way, end) => {
  const ending = async () => expect((await end()).status).toBeLessThan(300);

  it('signs nobody in', async () => {
    await register();
    const person = newPerson();
    confirm(person);
    expect((await signInWith(new FormClient(t), issuer['name'])).status).toBe(303);
    expect(await sessionsOf(person)).toBe(1);
    confirm(person, ending);
    const browser = new FormClient(t);
    expect((await signInWith(browser, issuer['name'])).status).toBe(404);
    expect([await userOf(browser), await sessionsOf(person)]).toEqual([undefined, 0]);
  });

  it('gives no session to a sign-in that waits for its second factor', async () => {
    await register();
    const person = newPerson();
    confirm(person);
    const [browser, later] = [new FormClient(t), new FormClient(t)];
    await signInWith(browser, issuer['name']);
    const as = browser.cookies.get(`${t.database.name}_session`) ?? '';
    const { secret } = (await t.call('POST', '/totp/enable', { as, body: {} })).body;
    const code = () => generateSync({ secret, epoch: t.clock.now() / 1000 });
    expect((await t.call('POST', '/totp/verify', { as, body: { code: code() } })).status).toBe(200);
    t.clock.advance(30_000);
    expect((await signInWith(later, issuer['name'])).headers.get('location')).toContain('/account/second-factor');
    const twoFactorToken = later.cookies.get(`${t.database.name}_second_step`);
    await ending();
    expect((await t.call('POST', '/totp/verify', { body: { code: code(), twoFactorToken } })).status).toBe(401);
    expect(await sessionsOf(person)).toBe(0);
  });

  it('is connected to no account', async () => {
    await register();
    const [browser, email, password] = [new FormClient(t), newPerson()['email'], 'correct horse battery staple'];
    await t.call('POST', '/sign-up', { body: { email, password } });
    expect((await browser.post('/account/sign-in', { email, password })).status).toBe(303);
    const pressed = await browser.post('/account/connections', { action: 'connect', name: issuer['name'] });
    const page = new URL(pressed.headers.get('refresh')?.slice(7) ?? '');
    const { sub } = newPerson();
    confirm({ sub }, ending);
    expect((await browser.get(callback(issuer['name'], page))).status).toBe(404);
    const rows = t.legate.platform.database.read.selectFrom('identities').selectAll().where('subject', '=', sub);
    expect(await rows.execute()).toEqual([]);
  });
});

it('a sign-in gives the role of the mapping that applies when the session begins', async () => {
  await register({ map: [{ claim: 'department', value: 'operations', role: 'admin' }] });
  confirm(newPerson({ department: 'operations' }), async () =>
    expect((await change({ map: [{ claim: 'department', value: 'security', role: 'admin' }] })).status).toBe(200),
  );
  const browser = new FormClient(t);
  expect((await signInWith(browser, issuer['name'])).status).toBe(303);
  expect((await userOf(browser))?.['role']).toBe('user');
});
