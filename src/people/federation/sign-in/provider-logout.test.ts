import type { JWTPayload } from 'jose';
import { beforeAll, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import {
  begin,
  CLIENT,
  openPretendedProvider,
  openRealProvider,
  type PretendedProvider,
  signInWith,
  throughProvider,
} from '../../../../test/support/identity-provider.ts';
import {
  createTestService,
  FakeClock,
  type Json,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
let t: TestService;
let admin: TestUser;
let provider: PretendedProvider;
let other: PretendedProvider;
let count = 0;

const register = async (name: string, issuer: string): Promise<void> => {
  const body = { name, issuer, uses: ['signIn'], ...CLIENT, domains: ['example.com'] };
  expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
};

beforeAll(async () => {
  const clock = new FakeClock();
  // The provider uses the clock of the system.
  clock.set(new Date().toISOString());
  t = await createTestService({
    lasting: true,
    clock,
    config: { federation: { allowPrivateNetworks: true }, users: { provision: true } },
  });
  admin = await t.admin();
  [provider, other] = [await openPretendedProvider(), await openPretendedProvider()];
  await register('pretended', provider.address);
  await register('other', other.address);
});

const seconds = () => Math.floor(t.clock.now() / 1000);
const newSubject = (): string => `person-${++count}`;

async function signIn(sub: string, sid?: string, at = provider, name = 'pretended'): Promise<FormClient> {
  at.idToken = (nonce) =>
    at.sign({
      aud: CLIENT.clientId,
      iat: seconds(),
      exp: seconds() + 300,
      nonce,
      sub,
      email: `${sub}@example.com`,
      email_verified: true,
      ...(sid === undefined ? {} : { sid }),
    });
  const browser = new FormClient(t);
  expect((await signInWith(browser, name)).status).toBe(303);
  return browser;
}
const isSignedIn = async (browser: FormClient): Promise<boolean> =>
  (await browser.get('/auth/session')).body.user !== undefined;

const claimsOf = (more: Json): JWTPayload => ({
  aud: CLIENT.clientId,
  iat: seconds(),
  exp: seconds() + 120,
  jti: `logout-${++count}`,
  events: { [EVENT]: {} },
  ...more,
});
const send = (token: string, name = 'pretended') =>
  t.call('POST', `/auth/oidc/${name}/logout`, {
    raw: new URLSearchParams({ logout_token: token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const logout = async (more: Json, header: Json = { typ: 'logout+jwt' }, at = provider) =>
  send(await at.sign(claimsOf(more), header));

it('[OIDC Back-Channel Logout 2.7] a logout token immediately ends the session that `sid` names', async () => {
  const sub = newSubject();
  const [here, elsewhere] = [await signIn(sub, 'one'), await signIn(sub, 'two')];
  const r = await logout({ sub, sid: 'one' });
  expect([r.status, r.text, r.headers.get('cache-control')]).toEqual([200, '', 'no-store']);
  expect([await isSignedIn(here), await isSignedIn(elsewhere)]).toEqual([false, true]);
  const { body } = await t.call('GET', '/events?types=session.ended&limit=1', { as: admin });
  expect(body[0]).toMatchObject({
    data: { reason: 'provider-logout' },
    actor: { kind: 'system', reason: 'logout at pretended' },
  });
  expect((await logout({ sid: 'two' })).status).toBe(200);
  expect(await isSignedIn(elsewhere)).toBe(false);
});

it('ends all sessions that `sub` began with the provider, and no others', async () => {
  const [sub, another] = [newSubject(), newSubject()];
  const own = [await signIn(sub, 'three'), await signIn(sub)];
  const kept = await signIn(another, 'four');
  const person = await t.user();
  expect((await logout({ sub })).status).toBe(200);
  expect(await Promise.all(own.map(isSignedIn))).toEqual([false, false]);
  expect(await isSignedIn(kept)).toBe(true);
  expect((await t.call('GET', '/auth/session', { as: person })).status).toBe(200);
  // Two persons of different providers may have the same subject and session id.
  expect((await logout({ sub: another, sid: 'three' })).status).toBe(200);
  expect(await isSignedIn(kept)).toBe(true);
});

it('[OIDC Back-Channel Logout 2.7] `sid` ends a session even after the person has removed the connection', async () => {
  const sub = newSubject();
  const browser = await signIn(sub, 'left');
  await browser.get('/account/connections');
  const removed = await browser.post('/account/connections', { action: 'remove', issuer: provider.address });
  expect(removed.headers.get('location')).toBe('/account/connections?done=removed');
  expect(await isSignedIn(browser)).toBe(true);
  expect((await logout({ sub, sid: 'left' })).status).toBe(200);
  expect(await isSignedIn(browser)).toBe(false);
});

it('ends sign-ins that wait for their second factor, and those in progress', async () => {
  const sub = newSubject();
  const browser = await signIn(sub, 'five');
  const { id } = (await browser.get('/auth/session')).body.user;
  const { read, write } = t.legate.platform.database;
  await write.updateTable('users').set({ two_factor_enabled: 1 }).where('id', '=', id).execute();
  const waiting = read.selectFrom('one_time_tokens').selectAll().where('user_id', '=', id);
  for (const [sid, named] of [
    ['six', { sid: 'six' }],
    ['seven', { sub }],
  ] as const) {
    provider.idToken = (nonce) =>
      provider.sign({ aud: CLIENT.clientId, iat: seconds(), exp: seconds() + 300, nonce, sub, sid });
    await signInWith(new FormClient(t), 'pretended');
    expect((await waiting.execute()).length).toBe(1);
    expect((await logout(named)).status).toBe(200);
    expect(await waiting.execute()).toEqual([]);
  }
  // The provider has ended the session since it issued the ID token.
  expect((await signInWith(new FormClient(t), 'pretended')).status).toBe(303);
  provider.idToken = (nonce) =>
    provider.sign({ aud: CLIENT.clientId, iat: seconds(), exp: seconds() + 300, nonce, sub, sid: 'six' });
  expect((await signInWith(new FormClient(t), 'pretended')).status).toBe(401);
});

it('without `sid`, ends sign-ins in progress too, and none that begins later', async () => {
  const sub = newSubject();
  const earlier = await signIn(sub);
  const later = new FormClient(t);
  provider.idToken = async (nonce) => {
    t.clock.advance(1);
    expect((await logout({ sub })).status).toBe(200);
    return provider.sign({ aud: CLIENT.clientId, iat: seconds(), exp: seconds() + 300, nonce, sub });
  };
  expect((await signInWith(later, 'pretended')).status).toBe(401);
  expect([await isSignedIn(earlier), await isSignedIn(later)]).toEqual([false, false]);
  t.clock.advance(1);
  expect(await isSignedIn(await signIn(sub))).toBe(true);
});

it('[OIDC Back-Channel Logout 2.6] every other token is refused, as is one that was already used', async () => {
  const sub = newSubject();
  const browser = await signIn(sub, 'eight');
  const refused: [string, Json, Json?][] = [
    ['another audience', { aud: 'another client' }],
    ['another issuer', { iss: 'https://elsewhere.example' }],
    ['no events', { events: undefined }],
    ['another event', { events: { 'http://schemas.openid.net/event/other': {} } }],
    ['an event that is not an object', { events: { [EVENT]: true } }],
    ['a nonce', { nonce: 'n' }],
    ['no jti', { jti: undefined }],
    ['no iat', { iat: undefined }],
    ['no exp', { exp: undefined }],
    ['neither sub nor sid', { sub: undefined, sid: undefined }],
    ['a time in the past', { exp: seconds() - 61 }],
    ['a time in the future', { iat: seconds() + 600 }],
    ['the type of another token', {}, { typ: 'at+jwt' }],
  ];
  for (const [what, more, header] of refused) {
    const r = await logout({ sub, sid: 'eight', ...more }, header);
    expect([r.status, r.body.error.code], what).toEqual([400, 'LOGOUT_TOKEN_REFUSED']);
  }
  const good = await provider.sign(claimsOf({ sub, sid: 'nobody' }));
  const [head, body] = good.split('.') as [string, string];
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
  const foreign = await other.sign(claimsOf({ iss: provider.address, sub, sid: 'eight' }));
  for (const token of ['', 'x', none, `${head}.${body}.AAAA`, foreign]) expect((await send(token)).status).toBe(400);
  const both = await Promise.all([send(good), send(good)]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  expect(await isSignedIn(browser)).toBe(true);
});

it('is unknown for other issuers, accepts only forms, and is an error if the provider cannot be reached', async () => {
  expect((await send('x', 'nobody')).status).toBe(404);
  expect((await t.call('POST', '/auth/oidc/pretended/logout', { body: { logout_token: 'x' } })).status).toBe(415);
  await register('down', 'http://127.0.0.1:9');
  expect((await send('x', 'down')).status).toBe(503);
});

it('accepts the logout token of a real provider', async () => {
  const callback = `${t.legate.baseUrl}/auth/oidc/real/callback`;
  const sent: number[] = [];
  const real = await openRealProvider([callback], async (url, options) => {
    const response = await t.legate.fetch(new Request(url, options), { remoteAddress: '127.0.0.1' });
    sent.push(response.status);
    return response;
  });
  await register('real', real.address);
  const sub = newSubject();
  real.person = { sub, email: `${sub}@example.com`, email_verified: true };
  const browser = new FormClient(t);
  expect((await browser.get(await throughProvider(t, (await begin(browser, 'real')).href))).status).toBe(303);
  const { id } = (await browser.get('/auth/session')).body.user;
  const { read } = t.legate.platform.database;
  const session = await read.selectFrom('sessions').selectAll().where('user_id', '=', id).executeTakeFirstOrThrow();
  expect(session).toMatchObject({ issuer: real.address, issuer_session_hash: expect.any(String) });
  await real.logout(sub, 'another session');
  expect(await isSignedIn(browser)).toBe(true);
  await real.logout(sub, real.sid);
  expect(await isSignedIn(browser)).toBe(false);
  expect(sent).toEqual([200, 200]);
});
