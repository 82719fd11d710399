import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import { openGitHub, type TestGitHub } from '../../../../test/support/github.ts';
import { begin, CLIENT, openPretendedProvider, signInWith } from '../../../../test/support/identity-provider.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../test/support/service.ts';
import { githubApi } from './github.ts';

let t: TestService;
let admin: TestUser;
let github: TestGitHub;
let people = 0;

const register = (body: Json) =>
  t.call('POST', '/issuers', { as: admin, body: { uses: ['signIn'], ...CLIENT, domains: ['example.com'], ...body } });

beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    config: { federation: { allowPrivateNetworks: true }, users: { provision: true } },
  });
  admin = await t.admin();
  github = await openGitHub(CLIENT);
  const map = [{ claim: 'email', value: 'chief@example.com', role: 'admin' }];
  expect((await register({ name: 'github', preset: 'github', issuer: github.issuer, map })).status).toBe(201);
});

const account = (more: Json = {}, email: Json = {}): TestGitHub['account'] => {
  const id = 1000 + ++people;
  const emails = [
    { email: `other-${id}@example.com`, primary: false, verified: true },
    { email: `person-${id}@example.com`, primary: true, verified: true, ...email },
  ];
  return { id, login: `person-${id}`, name: 'Ada Lovelace', emails, ...more };
};
async function signIn(who: TestGitHub['account']): Promise<[number, Json | undefined]> {
  github.account = who;
  const browser = new FormClient(t);
  const r = await browser.get(await github.agree(await begin(browser, 'github')));
  return [r.status, r.status === 303 ? (await browser.get('/auth/session')).body.user : undefined];
}

describe('the preset github', () => {
  it('[RFC 7636 4.3] GitHub is asked only for addresses, with a challenge, and the token owner signs in', async () => {
    const page = await begin(new FormClient(t), 'github');
    expect([page.origin + page.pathname, page.searchParams.get('scope')]).toEqual([
      `${github.issuer}/authorize`,
      'user:email',
    ]);
    const who = account();
    const [status, user] = await signIn(who);
    expect([status, user?.email, user?.name]).toEqual([303, `person-${who.id}@example.com`, 'Ada Lovelace']);
    expect(github.asked.at(-1)).toMatchObject({ 'user-agent': 'legate', accept: 'application/vnd.github+json' });
  });

  it('identifies a person by the numeric id, even if login and address change', async () => {
    const who = account();
    const [, first] = await signIn(who);
    expect((await signIn({ ...who, login: 'renamed', emails: [] }))[1]).toMatchObject({ id: first?.id });
    // Somebody else takes the login and the address later.
    expect(await signIn({ ...who, id: who.id + 500 })).toEqual([403, undefined]);
  });

  it.each<[string, () => TestGitHub['account']]>([
    ['an unverified primary address', () => account({}, { verified: false })],
    ['a primary address of another domain', () => account({}, { email: 'x@elsewhere.example' })],
    ['no address', () => account({ emails: [] })],
  ])('refuses a person with %s', async (_what, who) => {
    expect(await signIn(who())).toEqual([403, undefined]);
  });

  it('gives no role for an unverified address', async () => {
    const who = account();
    await signIn(who);
    const as = (verified: boolean) =>
      signIn({ ...who, emails: [{ email: 'chief@example.com', primary: true, verified }] });
    expect((await as(false))[1]).toMatchObject({ role: 'user' });
    expect((await as(true))[1]).toMatchObject({ role: 'admin' });
  });

  it('refuses new people who do not permit reading their addresses', async () => {
    github.granted = '';
    expect(await signIn(account())).toEqual([403, undefined]);
    github.granted = 'user:email';
  });

  it('accepts a callback once, and only in the browser that began', async () => {
    github.account = account();
    const [browser, stranger] = [new FormClient(t), new FormClient(t)];
    const path = await github.agree(await begin(browser, 'github'));
    const theirs = await github.agree(await begin(stranger, 'github'));
    expect((await stranger.get(path)).status).toBe(400);
    // The code of another browser belongs to another challenge than the state of this browser.
    const query = new URLSearchParams(path.split('?')[1]);
    query.set('code', new URLSearchParams(theirs.split('?')[1]).get('code') ?? '');
    expect((await browser.get(`/auth/oidc/github/callback?${query}`)).status).toBe(401);
  });

  it.each<[string, string, readonly [number, unknown]]>([
    ['a profile without an id', '/user', [200, { login: 'x' }]],
    ['an id that is a text', '/user', [200, { id: '1' }]],
    ['a refused token', '/user', [401, { message: 'Bad credentials' }]],
    ['a failure', '/user/emails', [500, {}]],
    ['addresses in another form', '/user/emails', [200, ['x@example.com']]],
  ])('refuses %s', async (_what, path, answer) => {
    github.answers[path] = answer;
    expect(await signIn(account())).toEqual([401, undefined]);
    delete github.answers[path];
  });

  it('accepts no logout tokens', async () => {
    const r = await t.call('POST', '/auth/oidc/github/logout', {
      raw: 'logout_token=x.y.z',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([r.status, r.body.error.code]).toEqual([400, 'LOGOUT_TOKEN_REFUSED']);
  });

  it('calls the API of github.com, of a company at ghe.com, or of the server', () => {
    expect(
      ['https://github.com/login/oauth', 'https://acme.ghe.com/login/oauth', 'https://git.acme.com/login/oauth'].map(
        githubApi,
      ),
    ).toEqual(['https://api.github.com', 'https://api.acme.ghe.com', 'https://git.acme.com/api/v3']);
  });

  it('requires a secret, and cannot be used for anything else', async () => {
    const github = { name: 'hub', preset: 'github' };
    for (const more of [
      { clientSecret: undefined },
      { uses: ['signIn', 'workload'] },
      { issuer: 'https://github.com' },
    ])
      expect((await register({ ...github, ...more })).body.error?.code).toBe('VALIDATION_FAILED');
    const { body } = await register(github);
    expect(body).toMatchObject({ preset: 'github', issuer: 'https://github.com/login/oauth' });
    for (const change of [{ clientSecret: null }, { uses: ['enterprise'] }])
      expect((await t.call('PATCH', `/issuers/${body.id}`, { as: admin, body: change })).status).toBe(400);
  });
});

describe('presets', () => {
  it.each([
    ['google', undefined, 'https://accounts.google.com'],
    ['gitlab', undefined, 'https://gitlab.com'],
    ['gitlab', 'https://git.acme.com', 'https://git.acme.com'],
    ['okta', 'https://acme.okta.com', 'https://acme.okta.com'],
    ['auth0', 'https://acme.auth0.com/', 'https://acme.auth0.com/'],
    ['keycloak', 'https://sso.acme.com/realms/staff', 'https://sso.acme.com/realms/staff'],
    [
      'microsoft',
      'https://login.microsoftonline.com/0f4c1cc5-8c5b-4b0f-9a3e-2d6f1f3a7c11/v2.0',
      'https://login.microsoftonline.com/0f4c1cc5-8c5b-4b0f-9a3e-2d6f1f3a7c11/v2.0',
    ],
  ])('%s with the address %s becomes %s', async (preset, issuer, address) => {
    const { body } = await register({ name: `${preset}-${++people}`, preset, issuer });
    expect(body).toMatchObject({ preset, issuer: address });
  });

  it.each([
    ['google', 'https://accounts.google.com.evil.example'],
    ['microsoft', undefined],
    ['microsoft', 'https://login.microsoftonline.com/common/v2.0'],
    ['microsoft', 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0'],
    ['auth0', 'https://acme.auth0.com'],
    ['keycloak', 'https://sso.acme.com'],
    [undefined, undefined],
    ['unknown', 'https://unknown.example'],
  ])('%s does not accept the address %s', async (preset, issuer) => {
    expect((await register({ name: 'wrong', preset, issuer })).body.error?.code).toBe('VALIDATION_FAILED');
  });

  it('can be set in the configuration, with an address once', async () => {
    const issuer = { name: 'hub', preset: 'github' as const, uses: ['signIn' as const], ...CLIENT };
    const { legate } = await createTestService({ config: { issuers: [issuer] } });
    expect(legate.baseUrl).toMatch(/^http/);
    const twice = [issuer, { ...issuer, name: 'again', issuer: 'https://github.com/login/oauth' }];
    await expect(createTestService({ config: { issuers: twice } })).rejects.toThrow('unique');
  });

  it('microsoft: an address counts if the domain is a verified one of the tenant', async () => {
    const entra = await openPretendedProvider();
    expect((await register({ name: 'entra', issuer: entra.address })).status).toBe(201);
    // The tests cannot use addresses of Microsoft, so they set the preset that the address of a tenant would select.
    const { write } = t.legate.platform.database;
    await write.updateTable('issuers').set({ preset: 'microsoft' }).where('name', '=', 'entra').execute();
    const seconds = Math.floor(t.clock.now() / 1000);
    const statuses = [];
    for (const said of [{ email_verified: true }, { xms_edov: false }, { xms_edov: true }, { xms_edov: '1' }]) {
      const sub = `entra-${++people}`;
      entra.idToken = (nonce) =>
        entra.sign({
          aud: CLIENT.clientId,
          iat: seconds,
          exp: seconds + 60,
          nonce,
          sub,
          email: `${sub}@example.com`,
          ...said,
        });
      statuses.push((await signInWith(new FormClient(t), 'entra')).status);
    }
    expect(statuses).toEqual([403, 403, 303, 303]);
  });
});
