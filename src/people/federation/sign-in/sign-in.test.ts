import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import {
  begin,
  CLIENT,
  callback,
  createProvisioningService,
  openPretendedProvider,
  openRealProvider,
  type PretendedProvider,
  type RealProvider,
  registerProvider,
  signInWith,
  throughProvider,
} from '../../../../test/support/identity-provider.ts';
import {
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';

const MINUTE = 60_000;
let t: TestService;
let admin: TestUser;
let real: RealProvider;
let pretended: PretendedProvider;
let other: PretendedProvider;
let persons = 0;

const register = (name: string, provider: { readonly address: string }, more: Json = {}): Promise<Json> =>
  registerProvider(t, admin, name, provider, more);

beforeAll(async () => {
  t = await createProvisioningService();
  admin = await t.admin();
  real = await openRealProvider([`${t.legate.baseUrl}/auth/oidc/real/callback`]);
  [pretended, other] = [await openPretendedProvider(), await openPretendedProvider()];
  await register('real', real);
  await register('pretended', pretended, { secondFactors: ['mfa'] });
  await register('other', other);
  await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } });
});

const seconds = () => Math.floor(t.clock.now() / 1000);
/** The claims of a new person whose address the provider has verified. */
const somebody = (more: Json = {}): Json => {
  const name = `person-${++persons}`;
  return { sub: name, email: `${name}@example.com`, email_verified: true, ...more };
};
const idToken =
  (claims: Json, header: Json = {}, at = pretended) =>
  (nonce: string) =>
    at.sign({ aud: CLIENT.clientId, iat: seconds(), exp: seconds() + 300, nonce, ...claims }, header);
async function signIn(claims: Json, header: Json = {}): Promise<[number, Json | undefined]> {
  pretended.idToken = idToken(claims, header);
  const browser = new FormClient(t);
  const r = await signInWith(browser, 'pretended');
  return [r.status, r.status === 303 ? await me(browser) : undefined];
}
const me = async (browser: FormClient): Promise<Json> => (await browser.get('/auth/session')).body.user;
const change = (id: string, columns: Json) =>
  t.legate.platform.database.write
    .updateTable('users')
    .set(columns)
    .where('id', '=', id as never)
    .execute();

describe('GET /auth/oidc/:name/start', () => {
  it('[OIDC Core 3.1.2.1; RFC 7636 4.3] the start redirects with a new challenge, nonce and state', async () => {
    const [one, two] = [await begin(new FormClient(t), 'real'), await begin(new FormClient(t), 'real')];
    expect(one.origin).toBe(real.address);
    expect(Object.fromEntries(one.searchParams)).toMatchObject({
      client_id: CLIENT.clientId,
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${t.legate.baseUrl}/auth/oidc/real/callback`,
    });
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(one.searchParams.get(name)).not.toBe(two.searchParams.get(name));
  });

  it('has a button on the sign-in page that keeps the page to return to', async () => {
    const page = await new FormClient(t).get('/account/sign-in?returnTo=%2Faccount%2Fdevices&lang=de');
    expect(page.text).toContain('href="/auth/oidc/real/start?returnTo=%2Faccount%2Fdevices"');
    expect(page.text).toContain('Mit real anmelden');
  });

  it('returns 404 for unknown providers and for issuers with another use', async () => {
    await register('workloads', { address: 'https://workloads.example' }, { uses: ['workload'] });
    for (const name of ['unknown', 'workloads'])
      for (const path of ['start', 'callback?code=x&state=x'])
        expect((await t.call('GET', `/auth/oidc/${name}/${path}`)).body.error.code).toBe('ISSUER_NOT_FOUND');
  });

  it('returns 503 if the provider cannot be read, and refuses private addresses by default', async () => {
    await register('down', { address: 'http://127.0.0.1:9' });
    expect((await t.call('GET', '/auth/oidc/down/start')).body.error.code).toBe('PROVIDER_UNAVAILABLE');
    const issuers = [{ name: 'real', issuer: real.address, uses: ['signIn' as const], clientId: 'legate' }];
    const strict = await createTestService({ config: { issuers } });
    expect((await strict.call('GET', '/auth/oidc/real/start')).status).toBe(503);
  });
});

describe('the discovery document of a provider', () => {
  it.each<[string, Json]>([
    ['names another issuer', { issuer: 'https://other.example' }],
    ['has a script as page', { authorization_endpoint: 'javascript:alert(1)' }],
    ['has no keys', { jwks_uri: undefined }],
    ['has no token endpoint', { token_endpoint: undefined }],
    ['has no host in the address of its page', { authorization_endpoint: 'https://' }],
    ['has keys in a file', { jwks_uri: 'file:///etc/passwd' }],
    ['lists no ways to authenticate', { token_endpoint_auth_methods_supported: null }],
  ])('[OIDC Discovery 4.3] a discovery document is refused if it %s', async (what, document) => {
    const provider = await openPretendedProvider();
    Object.assign(provider.document, document);
    const name = what.replaceAll(' ', '-');
    await register(name, provider);
    expect((await t.call('GET', `/auth/oidc/${name}/start`)).body.error.code).toBe('PROVIDER_UNAVAILABLE');
  });
});

it('a discovery document with deeply nested members is read without them', async () => {
  const provider = await openPretendedProvider();
  const { address: issuer, document } = provider;
  const known = JSON.stringify({ ...document, issuer, jwks_uri: `${issuer}/jwks`, scopes_supported: ['openid'] });
  const nested = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const body = `${known.slice(0, -1)},"mtls_endpoint_aliases":${nested}}`;
  provider.documents['/.well-known/openid-configuration'] = Buffer.from(body);
  await register('nested', provider);
  expect((await t.call('GET', '/auth/oidc/nested/start')).status).toBe(303);
});

describe('GET /auth/oidc/:name/callback', () => {
  it('[OIDC Core 3.1.3.3] a person signs in with a real provider, once and in the browser that began', async () => {
    const browser = new FormClient(t);
    real.person = somebody({ name: 'Ada Lovelace' }) as RealProvider['person'];
    const path = await throughProvider(t, (await begin(browser, 'real', '/account/devices')).href);
    const stranger = new FormClient(t);
    await begin(stranger, 'real');
    expect((await stranger.get(path)).status).toBe(400);
    const [name = '', kept = ''] = [...browser.cookies].find(([key]) => key.endsWith('_sign_in')) ?? [];
    const r = await browser.get(path);
    expect([r.status, r.headers.get('location')]).toEqual([303, '/account/devices']);
    expect(await me(browser)).toMatchObject({ email: real.person['email'], name: 'Ada Lovelace', emailVerified: true });
    browser.cookies.set(name, kept);
    const again = await browser.get(`${path}&lang=de`);
    expect([again.status, again.text.includes('in einem anderen Browser begonnen')]).toEqual([400, true]);
    const events = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('data')
      .where('type', '=', 'auth.signin')
      .execute();
    expect(events.map(({ data }) => JSON.stringify(data)).join()).toContain('oidc:real');
  });

  it('accepts a callback once, even if it arrives many times concurrently on several instances', async () => {
    const config = { federation: { allowPrivateNetworks: true }, users: { provision: true } };
    const more = dialect === 'postgres' ? await createTestService({ config, sameDatabaseAs: t }) : t;
    more.clock.set(new Date(t.clock.now()).toISOString());
    pretended.idToken = idToken(somebody());
    const browser = new FormClient(t);
    const path = callback('pretended', await begin(browser, 'pretended'));
    const copies = Array.from({ length: 5 }, (_, i) =>
      Object.assign(new FormClient(i % 2 ? t : more), { cookies: new Map(browser.cookies) }),
    );
    const answers = await Promise.all(copies.map((each) => each.get(path)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400]);
  });

  it('sends the verifier and the secret to the token endpoint of the provider', async () => {
    await signIn(somebody());
    const { code_verifier, authorization } = pretended.asked.at(-1);
    expect([code_verifier.length, authorization.startsWith('Basic ')]).toEqual([43, true]);
  });

  it('ignores a page to return to that is on another origin', async () => {
    const browser = new FormClient(t);
    pretended.idToken = idToken(somebody());
    const page = await begin(browser, 'pretended', '//evil.example/');
    expect((await browser.get(callback('pretended', page))).headers.get('location')).toBe('/account');
  });

  it.each<[string, () => Json, Json?]>([
    ['another audience', () => ({ aud: 'another client' })],
    ['another issuer', () => ({ iss: other.address })],
    ['another nonce', () => ({ nonce: 'x' })],
    ['no nonce', () => ({ nonce: undefined })],
    ['another authorized party', () => ({ aud: [CLIENT.clientId, 'x'], azp: 'x' })],
    ['a time 10 minutes in the future', () => ({ iat: seconds() + 600, exp: seconds() + 900 })],
    ['a time 10 minutes in the past', () => ({ iat: seconds() - 900, exp: seconds() - 600 })],
    ['no subject', () => ({ sub: '' })],
    ['the type of a logout token', () => ({}), { typ: 'logout+jwt' }],
    ['the type of an ID-JAG', () => ({}), { typ: 'oauth-id-jag+jwt' }],
    ['an unknown key', () => ({}), { kid: 'unknown' }],
  ])('[OIDC Core 3.1.3.7] an ID token is refused with %s', async (_what, claims, header) => {
    expect(await signIn(somebody(claims()), header)).toEqual([401, undefined]);
  });

  it('[RFC 8725 3.1] an ID token without a signature, or signed with the client secret, is refused', async () => {
    const part = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const browser = new FormClient(t);
    for (const alg of ['none', 'HS256']) {
      const claims = { iss: pretended.address, aud: CLIENT.clientId, iat: seconds(), exp: seconds() + 300 };
      pretended.idToken = async (nonce) => {
        const signed = `${part({ alg })}.${part({ ...somebody(), ...claims, nonce })}`;
        const { createHmac } = await import('node:crypto');
        const hmac = createHmac('sha256', CLIENT.clientSecret).update(signed).digest('base64url');
        return `${signed}.${alg === 'none' ? '' : hmac}`;
      };
      expect((await signInWith(browser, 'pretended')).status).toBe(401);
    }
  });

  it('[RFC 9207 2.4] a callback of one provider is refused at another', async () => {
    const browser = new FormClient(t);
    const page = await begin(browser, 'pretended');
    pretended.idToken = idToken(somebody());
    other.idToken = idToken(somebody(), {}, other);
    expect((await browser.get(callback('other', page))).status).toBe(400);
    expect((await browser.get(callback('pretended', page, { iss: other.address }))).status).toBe(401);
  });

  it('refuses a sign-in that began more than 10 minutes ago', async () => {
    const browser = new FormClient(t);
    const page = await begin(browser, 'pretended');
    pretended.idToken = idToken(somebody());
    t.clock.advance(10 * MINUTE);
    expect((await browser.get(callback('pretended', page))).status).toBe(400);
  });

  it('shows a refusal of the provider as a page with a way back', async () => {
    const browser = new FormClient(t);
    const page = await begin(browser, 'pretended');
    const path = `/auth/oidc/pretended/callback?error=access_denied&state=${page.searchParams.get('state')}`;
    const r = await browser.get(path);
    expect([r.status, r.text.includes('href="/account/sign-in"')]).toEqual([401, true]);
  });

  it('answers programs with 401, and does not redirect them', async () => {
    const browser = new FormClient(t, { accept: '*/*' });
    const page = await begin(browser, 'pretended');
    const r = await browser.get(
      `/auth/oidc/pretended/callback?error=access_denied&state=${page.searchParams.get('state')}`,
    );
    expect([r.status, r.body?.error?.code, r.headers.get('location')]).toEqual([401, 'SIGN_IN_NOT_CONFIRMED', null]);
  });

  it('requires a code of the second factor, unless the provider confirms a second factor', async () => {
    const claims = somebody();
    const [, user] = await signIn(claims);
    await change(user.id, { two_factor_enabled: 1 });
    pretended.idToken = idToken(claims);
    const r = await signInWith(new FormClient(t), 'pretended');
    expect(r.headers.get('location')).toBe('/account/second-factor?returnTo=%2Faccount');
    expect((await signIn({ ...claims, amr: ['pwd', 'mfa'] }))[1]).toMatchObject({ id: user.id });
    // A session whose second factor the provider confirmed satisfies users.requireSecondFactor; the first session does
    // not.
    const { read } = t.legate.platform.database;
    const sessions = read.selectFrom('sessions').select('both_factors').where('user_id', '=', user.id);
    expect((await sessions.orderBy('both_factors').execute()).map((row) => row.both_factors)).toEqual([0, 1]);
  });
});

describe('the account of an identity', () => {
  it('is the same at each sign-in, whatever its address becomes', async () => {
    const claims = somebody();
    const [, first] = await signIn(claims);
    const [, second] = await signIn({ ...claims, email: 'changed@elsewhere.example', email_verified: false });
    expect(second.id).toBe(first.id);
  });

  it('is an existing account if provider and account both verified the address', async () => {
    const { id, email } = await t.user();
    expect((await signIn(somebody({ email: email.toUpperCase(), email_verified: 'true' })))[1]).toMatchObject({ id });
  });

  it.each<[string, Json]>([
    ['an unverified address', { email_verified: false }],
    ['an address without email_verified', { email_verified: undefined }],
    ['an address of another domain', { email: 'x@elsewhere.example' }],
    ['an address of a subdomain', { email: 'x@sub.example.com' }],
    ['no address', { email: undefined }],
  ])('no account is created for %s', async (_what, more) => {
    expect(await signIn(somebody(more))).toEqual([403, undefined]);
  });

  it('an existing account whose own address is unverified is not used', async () => {
    const { id, email } = await t.user();
    await change(id, { email_verified: 0 });
    expect((await signIn(somebody({ email })))[0]).toBe(403);
  });

  it('an account of another identity of the provider, which had the address before, is not used', async () => {
    const claims = somebody();
    await signIn(claims);
    expect((await signIn({ ...claims, sub: 'the next owner of the address' }))[0]).toBe(403);
  });

  it('is refused with the same text whether it is suspended or does not exist', async () => {
    const claims = somebody();
    const [, user] = await signIn(claims);
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { status: 'suspended' } });
    const texts = [];
    for (const each of [claims, somebody({ email_verified: false })]) {
      pretended.idToken = idToken(each);
      const browser = new FormClient(t, { accept: 'application/json' });
      const r = await signInWith(browser, 'pretended');
      texts.push([r.status, r.text]);
    }
    expect(texts[0]).toEqual(texts[1]);
    expect(texts[0]?.[0]).toBe(403);
  });

  it('is created again after the user was deleted', async () => {
    const claims = somebody();
    const [, user] = await signIn(claims);
    await t.call('DELETE', `/users/${user.id}`, { as: admin });
    const [status, next] = await signIn(claims);
    expect([status, next.id === user.id]).toEqual([303, false]);
  });

  it('gets role and tenant from its claims, at each sign-in, even with 10,000 groups', async () => {
    const third = await openPretendedProvider();
    const map = [
      { claim: 'groups', value: 'group-9999', role: 'auditor' },
      { claim: 'groups', value: 'group-1', tenant: 'acme' },
    ];
    await register('mapped', third, { map });
    const claims = somebody();
    const groups = Array.from({ length: 10_000 }, (_, i) => `group-${i}`);
    const seen = [];
    for (const more of [{ groups }, { groups: ['group-1'] }, {}]) {
      third.idToken = idToken({ ...claims, ...more }, {}, third);
      const browser = new FormClient(t);
      expect((await signInWith(browser, 'mapped')).status).toBe(303);
      const { role, tenantId } = await me(browser);
      seen.push([role, tenantId !== null]);
    }
    expect(seen).toEqual([
      ['auditor', true],
      ['user', true],
      ['user', false],
    ]);
  });

  it('has at most 200 characters of a longer name, and never half of one', async () => {
    const [status, user] = await signIn(somebody({ name: `${'a'.repeat(199)}😀 and more` }));
    expect([status, user?.name]).toEqual([303, 'a'.repeat(199)]);
  });

  it('is not created unless users.provision is on', async () => {
    const issuers = [
      { name: 'pretended', issuer: pretended.address, uses: ['signIn' as const], ...CLIENT, domains: ['example.com'] },
    ];
    const closed = await createTestService({ config: { federation: { allowPrivateNetworks: true }, issuers } });
    closed.clock.set(new Date(t.clock.now()).toISOString());
    pretended.idToken = idToken(somebody());
    expect((await signInWith(new FormClient(closed), 'pretended')).status).toBe(403);
  });
});

describe('an issuer for signing in', () => {
  it('never shows its secret, which is encrypted in the database', async () => {
    const made = await register('secretive', { address: 'https://secretive.example' });
    const body = { clientSecret: 'another secret' };
    const changed = await t.call('PATCH', `/issuers/${made.id}`, { as: admin, body });
    const listed = await t.call('GET', '/issuers', { as: admin });
    const changes = await t.call('GET', `/changes?subject=${made.id}`, { as: admin });
    const rows = await t.legate.platform.database.read.selectFrom('issuers').selectAll().execute();
    expect(changed.body).toMatchObject({ clientId: 'legate', domains: ['example.com'] });
    for (const shown of [made, changed.body, listed.body, changes.body, rows])
      expect(JSON.stringify(shown)).not.toMatch(/another secret|the secret of the client/);
  });

  it('requires a client id', async () => {
    const body = { name: 'nobody', issuer: 'https://nobody.example', uses: ['signIn'] };
    expect((await t.call('POST', '/issuers', { as: admin, body })).body.error.code).toBe('VALIDATION_FAILED');
    const { id } = await register('somebody', { address: 'https://somebody.example' });
    const changed = await t.call('PATCH', `/issuers/${id}`, { as: admin, body: { clientId: null } });
    expect(changed.body.error.code).toBe('VALIDATION_FAILED');
  });
});
