import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import {
  CLIENT,
  openPretendedProvider,
  type PretendedProvider,
  signInWith,
} from '../../../../test/support/identity-provider.ts';
import { createTestService, type Json, type TestService } from '../../../../test/support/service.ts';

let t: TestService;
let provider: PretendedProvider;
let people = 0;

beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    config: { federation: { allowPrivateNetworks: true }, users: { provision: true } },
  });
  provider = await openPretendedProvider();
  provider.document['userinfo_endpoint'] = `${provider.address}/userinfo`;
  const map = [
    { claim: 'groups', value: 'security', role: 'auditor' },
    { claim: 'email', value: 'chief@example.com', role: 'admin' },
  ];
  const body = { name: 'pretended', issuer: provider.address, uses: ['signIn'], ...CLIENT, domains: ['example.com'] };
  expect((await t.call('POST', '/issuers', { as: await t.admin(), body: { ...body, map } })).status).toBe(201);
});

/** Signs a new person in with the claims of both documents. Returns the user, or the status of a refusal. */
async function signIn(idToken: Json, userInfo: Json, sub = `person-${++people}`): Promise<Json | number> {
  const now = Math.floor(t.clock.now() / 1000);
  provider.documents['/userinfo'] = { sub, ...userInfo };
  provider.idToken = (nonce) =>
    provider.sign({ sub, aud: CLIENT.clientId, iat: now, exp: now + 300, nonce, ...idToken });
  const browser = new FormClient(t);
  const { status } = await signInWith(browser, 'pretended');
  return status === 303 ? (await browser.get('/auth/session')).body.user : status;
}
let addresses = 0;
const address = (): string => `address-${++addresses}@example.com`;

describe('the address of a person and its verification', () => {
  it('verification of another address does not count for the one in the ID token', async () => {
    const victim = await t.user();
    expect(await signIn({ email: victim.email }, { email: address(), email_verified: true })).toBe(403);
    const { body } = await t.call('GET', `/users/${victim.id}`, { as: await t.admin() });
    expect(body).toMatchObject({ id: victim.id, email: victim.email });
    expect(await signIn({ email: address() }, { email: address(), email_verified: true })).toBe(403);
  });

  it('verification without an address does not count for one in the other document', async () => {
    expect(await signIn({ email: address() }, { email_verified: true })).toBe(403);
    expect(await signIn({ email_verified: true }, { email: address() })).toBe(403);
  });

  it('the ID token is decisive for the address that it has', async () => {
    const email = address();
    expect(await signIn({ email, email_verified: false }, { email, email_verified: true })).toBe(403);
    expect(await signIn({ email: null }, { email, email_verified: true })).toBe(403);
  });

  it('UserInfo may verify the address of the ID token, or have both', async () => {
    const [one, two] = [address(), address()];
    const inOtherCase = { email: one.toUpperCase(), email_verified: true };
    expect(await signIn({ email: one }, inOtherCase)).toMatchObject({ email: one, emailVerified: true });
    expect(await signIn({}, { email: two, email_verified: true })).toMatchObject({ email: two, emailVerified: true });
    expect(await signIn({}, { email: address(), email_verified: 'no' })).toBe(403);
  });

  it('a mapping by address needs an address that the same document verifies', async () => {
    const sub = 'somebody known';
    await signIn({ email: address(), email_verified: true }, {}, sub);
    const other = { email: address(), email_verified: true };
    expect(await signIn({ email: 'chief@example.com' }, other, sub)).toMatchObject({ role: 'user' });
    const both = { email: 'chief@example.com', email_verified: true };
    expect(await signIn({}, both, sub)).toMatchObject({ role: 'admin' });
  });

  it('other claims still come from either document', async () => {
    const verified = { email: address(), email_verified: true };
    expect(await signIn(verified, { groups: ['security'], email: address() })).toMatchObject({
      email: verified.email,
      role: 'auditor',
    });
  });
});
