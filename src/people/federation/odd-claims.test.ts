import { beforeAll, expect, it } from 'vitest';
import { CLIENT, openPretendedProvider, type PretendedProvider } from '../../../test/support/identity-provider.ts';
import { form, signUp } from '../../../test/support/oauth.ts';
import { refusalLog } from '../../../test/support/refusal-log.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';
const SUBJECT = 'job:1';

const { log, lastReason } = refusalLog();

let t: TestService;
let issuer: PretendedProvider;

beforeAll(async () => {
  t = await createTestService({ lasting: true, log, config: { federation: { allowPrivateNetworks: true } } });
  const [admin, owner] = [await t.admin(), await t.user()];
  issuer = await openPretendedProvider();
  const body = { name: 'issuer', issuer: issuer.address, uses: ['signIn', 'workload'], ...CLIENT };
  expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
  const trust = { issuer: issuer.address, subject: SUBJECT };
  const { id } = await t.agent(owner);
  expect((await t.call('POST', `/agents/${id}/trust`, { as: owner, body: trust })).status).toBe(201);
});

const seconds = () => Math.floor(t.clock.now() / 1000);
const claims = (more: Json): Json => ({ iat: seconds(), exp: seconds() + 300, jti: crypto.randomUUID(), ...more });
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const unsigned = (payload: Json): string => `${encode({ alg: 'ES256' })}.${encode(payload)}.AAAA`;

/** Texts that a database cannot compare with what it stores. */
const ODD = ['a\u0000b', '\u0000', '\ud800'];

it('a token that anybody makes up is refused, whatever text its issuer is', async () => {
  for (const iss of ODD) {
    const assertion = unsigned(claims({ iss, sub: SUBJECT, aud: t.legate.baseUrl }));
    const r = await form(t, '/oauth/token', { grant_type: GRANT, assertion });
    expect([r.status, r.body.error], JSON.stringify(iss)).toEqual([400, 'invalid_grant']);
    const asClient = { client_assertion_type: ASSERTION, client_assertion: assertion, token: 'x' };
    expect((await form(t, '/oauth/revoke', asClient)).status, JSON.stringify(iss)).toBe(401);
  }
});

it('a token of a platform is refused if its subject is not a text that an agent can trust', async () => {
  const show = async (sub: string) => {
    const assertion = await issuer.sign(claims({ sub, aud: t.legate.baseUrl }));
    return form(t, '/oauth/token', { grant_type: GRANT, assertion });
  };
  for (const sub of ODD) {
    const r = await show(sub);
    expect([r.status, r.body.error, lastReason()]).toEqual([400, 'invalid_grant', 'assertion-malformed']);
  }
  expect((await show(SUBJECT)).status).toBe(200);
});

it('a logout token is refused, and ends no session, if an identity cannot have its subject', async () => {
  const { write } = t.legate.platform.database;
  const person = await signUp(t);
  await write.updateTable('sessions').set({ issuer: issuer.address }).where('user_id', '=', person.id).execute();
  for (const sub of [...ODD, 5, true, ['x'], {}]) {
    const token = await issuer.sign(claims({ sub, aud: CLIENT.clientId, events: { [LOGOUT]: {} } }));
    const r = await form(t, '/auth/oidc/issuer/logout', { logout_token: token });
    expect([r.status, r.body?.error.code], JSON.stringify(sub)).toEqual([400, 'LOGOUT_TOKEN_REFUSED']);
    expect((await t.call('GET', '/auth/session', { as: person })).status, JSON.stringify(sub)).toBe(200);
  }
});

it('a token whose expiry is not a time is refused', async () => {
  for (const exp of [1e300, 1e16, Number.MAX_SAFE_INTEGER]) {
    const assertion = await issuer.sign(claims({ sub: SUBJECT, aud: t.legate.baseUrl, exp }));
    const r = await form(t, '/oauth/token', { grant_type: GRANT, assertion });
    expect([r.status, r.body.error, lastReason()], String(exp)).toEqual([400, 'invalid_grant', 'assertion-malformed']);
    const token = await issuer.sign(claims({ sub: 'x', aud: CLIENT.clientId, events: { [LOGOUT]: {} }, exp }));
    expect((await form(t, '/auth/oidc/issuer/logout', { logout_token: token })).status, String(exp)).toBe(400);
  }
});
