import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { createSetupLink } from '../../src/people/setup/setup-link.ts';
import { Authenticator, addPasskey, registrationOptions, signInOptions } from '../support/authenticator.ts';
import { FormClient } from '../support/browser-like.ts';
import { answerDevice, startDevice } from '../support/device.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { ask, code, consent, exchange, form, register, tokens } from '../support/oauth.ts';
import { mailedCode, mailedToken, PASSWORD, type Person, signedUp, withMailbox } from '../support/people.ts';
import { type Answered, createTestService, type Json, type TestService } from '../support/service.ts';
import { matrix } from './matrix.cases.ts';
import { newScene, session } from './matrix.scene.ts';

const DECISION = 'its record is the audit entry';
const QUESTION = 'answers a question and stores nothing';
const MAIL = 'sends mail; using the link or code leaves the event';
const OF_A_CONNECTION =
  'leaves an event, which src/mcp/gateway/connections/connections.test.ts reads: it needs a server';
const OF_A_GATEWAY_SERVER = 'leaves an event, which src/mcp/gateway/pins/pins.test.ts reads: it needs a server';
const RESENDS = 'delivers again, or as a test, what happened before';

/** Endpoints with a changing method that emit no event, each with its reason. Every other one has to emit one. */
const WITHOUT_EVENT: Readonly<Record<string, string>> = {
  'POST /gateway/:name/mcp': 'a call of a tool leaves its own event, which src/mcp/gateway/relay.test.ts reads',
  'PUT /gateway/connections/:name': OF_A_CONNECTION,
  'DELETE /gateway/connections/:name': OF_A_CONNECTION,
  'POST /gateway/:name/connect': OF_A_CONNECTION,
  'POST /gateway/servers/:name/tools/:tool/approve': OF_A_GATEWAY_SERVER,
  'POST /gateway/servers/:name/tools/:tool/block': OF_A_GATEWAY_SERVER,
  'POST /gateway/servers/:name/restart': OF_A_GATEWAY_SERVER,
  'DELETE /gateway/:name/mcp': 'ends a session of this process',
  'POST /authorize': DECISION,
  'POST /authorize/batch': DECISION,
  'POST /access/v1/evaluation': DECISION,
  'POST /access/v1/evaluations': DECISION,
  'POST /access/v1/search/subject': QUESTION,
  'POST /access/v1/search/resource': QUESTION,
  'POST /access/v1/search/action': QUESTION,
  'POST /agents/:id/permissions/filter': QUESTION,
  'POST /agents/:id/permissions/replay': QUESTION,
  'POST /api/legate/oauth/introspect': QUESTION,
  'POST /api/legate/oauth/device_authorization': 'hands out codes; the answer of a person leaves the event',
  'POST /events/ticket': 'hands out a ticket that opens one stream within a minute',
  'POST /webhooks/:id/test': RESENDS,
  'POST /webhooks/deliveries/:id/redeliver': RESENDS,
  'POST /webhooks/:id/recover': RESENDS,
  'POST /auth/oidc/:name/logout': 'ends sessions, whose events provider-logout.test.ts tests',
  'POST /account/connections': 'leads to a provider, or removes a connection as connections.test.ts tests',
  'POST /magic-link': MAIL,
  'POST /email-otp': MAIL,
  'POST /password/forgot': MAIL,
  'POST /verify-email/send': MAIL,
  'POST /account/magic-link': MAIL,
  'POST /account/forgot-password': MAIL,
  'POST /account/email-code': MAIL,
  'POST /account/verify-email': MAIL,
  'POST /passkeys/register/options': 'hands out a challenge; the answer to it leaves the event',
  'POST /passkeys/sign-in/options': 'hands out a challenge; the answer to it leaves the event',
  'POST /totp/enable': 'begins a second factor, which POST /totp/verify switches on',
};

type Act = () => Promise<Answered>;
const shared = withMailbox({ config: { webhooks: { allowPrivateNetworks: true } } });
const someone = async (): Promise<Person> => signedUp(await shared());
const asPerson = ({ id, email, session: token }: Person) => ({ id, email, token });

const codeNow = ({ t }: Person, secret: string): string => generateSync({ secret, epoch: t.clock.now() / 1000 });
async function beginTotp(p: Person): Promise<string> {
  return (await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).body.secret;
}
async function withTotp(): Promise<Person & { secret: string }> {
  const p = await someone();
  const secret = await beginTotp(p);
  await p.t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, secret) } });
  p.t.clock.advance(30_000);
  return { ...p, secret };
}
/** A browser with a session that has proved both factors. */
async function browserOf(p: Person & { secret: string }, more: Record<string, string> = {}): Promise<FormClient> {
  const browser = new FormClient(p.t);
  await browser.post('/account/sign-in', { email: p.email, password: PASSWORD });
  await browser.post('/account/second-factor', { code: codeNow(p, p.secret), ...more });
  p.t.clock.advance(30_000);
  return browser;
}
const byMail =
  (request: string, path: string, more: Json = {}) =>
  async (): Promise<Act> => {
    const p = await someone();
    const token = await mailedToken(p, request);
    return () => p.t.call('POST', path, { body: { token, ...more } });
  };
/** This endpoint works only in a service without users. */
const SETUP = 'POST /setup';
const emptyService = async (): Promise<{ t: TestService; token: string }> => {
  const t = await createTestService();
  return { t, token: new URL(await createSetupLink(t.legate.platform)).searchParams.get('token') ?? '' };
};

/**
 * Endpoints whose row of the matrix changes nothing, because it contains no correct password, link or code. Each entry
 * prepares the service, then acts.
 */
const PREPARED: Readonly<Record<string, () => Promise<Act>>> = {
  'POST /sign-in': async () => {
    const p = await someone();
    return () => p.t.call('POST', '/sign-in', { body: { email: p.email, password: PASSWORD } });
  },
  'POST /account/sign-in': async () => {
    const p = await someone();
    return () => new FormClient(p.t).post('/account/sign-in', { email: p.email, password: PASSWORD });
  },
  'POST /account/second-factor': async () => {
    const p = await withTotp();
    const browser = new FormClient(p.t);
    await browser.post('/account/sign-in', { email: p.email, password: PASSWORD });
    return () => browser.post('/account/second-factor', { code: codeNow(p, p.secret) });
  },
  'POST /magic-link/verify': byMail('/magic-link', '/magic-link/verify'),
  'POST /verify-email': byMail('/verify-email/send', '/verify-email'),
  'POST /password/reset': byMail('/password/forgot', '/password/reset', { newPassword: 'another long password' }),
  'POST /email-otp/verify': async () => {
    const p = await someone();
    const otp = await mailedCode(p);
    return () => p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp } });
  },
  'POST /password/change': async () => {
    const p = await someone();
    const body = { currentPassword: PASSWORD, newPassword: 'another long password' };
    return () => p.t.call('POST', '/password/change', { as: p.session, body });
  },
  'POST /totp/verify': async () => {
    const p = await someone();
    const secret = await beginTotp(p);
    return () => p.t.call('POST', '/totp/verify', { as: p.session, body: { code: codeNow(p, secret) } });
  },
  'POST /account/password': async () => {
    const p = await someone();
    const browser = new FormClient(p.t);
    await browser.post('/account/sign-in', { email: p.email, password: PASSWORD });
    const fields = { currentPassword: PASSWORD, newPassword: 'another long password' };
    return () => browser.post('/account/password', fields);
  },
  'POST /account/email-code/verify': async () => {
    const p = await someone();
    const code = await mailedCode(p);
    return () => new FormClient(p.t).post('/account/email-code/verify', { email: p.email, code });
  },
  'POST /account/two-factor': async () => {
    const p = await withTotp();
    const browser = await browserOf(p);
    return () => browser.post('/account/two-factor', { action: 'off', password: PASSWORD, code: codeNow(p, p.secret) });
  },
  'POST /account/two-factor/devices': async () => {
    const p = await withTotp();
    const browser = await browserOf(p, { trustDevice: 'on' });
    return () => browser.post('/account/two-factor/devices', {});
  },
  'POST /totp/disable': async () => {
    const p = await withTotp();
    const body = { password: PASSWORD, code: codeNow(p, p.secret) };
    return () => p.t.call('POST', '/totp/disable', { as: p.session, body });
  },
  'POST /passkeys/register/verify': async () => {
    const p = await someone();
    const body = new Authenticator().create(await registrationOptions(p.t, p.session));
    return () => p.t.call('POST', '/passkeys/register/verify', { as: p.session, body });
  },
  'POST /passkeys/sign-in/verify': async () => {
    const p = await someone();
    const device = new Authenticator();
    await addPasskey(p.t, p.session, device);
    const { options, cookie } = await signInOptions(p.t);
    const body = device.get(options);
    return () => p.t.call('POST', '/passkeys/sign-in/verify', { body, headers: { cookie } });
  },
  'DELETE /passkeys/:id': async () => {
    const p = await someone();
    const { id } = (await addPasskey(p.t, p.session)).body;
    return () => p.t.call('DELETE', `/passkeys/${id}`, { as: p.session });
  },
  'POST /account/passkeys': async () => {
    const p = await someone();
    const browser = new FormClient(p.t);
    await browser.post('/account/sign-in', { email: p.email, password: PASSWORD });
    const { id } = (await addPasskey(p.t, [...browser.cookies.values()][0] as string)).body;
    return () => browser.post('/account/passkeys', { action: 'remove', id });
  },
  'DELETE /users/:id/second-factor': async () => {
    const p = await withTotp();
    const admin = await p.t.admin();
    return () => p.t.call('DELETE', `/users/${p.id}/second-factor`, { as: admin });
  },
  'POST /api/legate/oauth/authorize/consent': async () => {
    const p = await someone();
    const asked = ask(await register(p.t));
    return () => consent(p.t, asPerson(p), asked);
  },
  'POST /oauth/consent': async () => {
    const p = await someone();
    const query = new URLSearchParams(ask(await register(p.t)).query);
    const { consentToken } = (await p.t.call('GET', `/oauth/consent?${query}`, { as: p.session })).body;
    const body = { decision: 'allow', consentToken };
    return () => p.t.call('POST', `/oauth/consent?${query}`, { as: p.session, body });
  },
  'POST /device': async () => {
    const p = await someone();
    const { device } = await startDevice(p.t);
    return () => answerDevice(p.t, asPerson(p), device.user_code);
  },
  'POST /api/legate/oauth/token': async () => {
    const p = await someone();
    const asked = ask(await register(p.t));
    const value = await code(p.t, asPerson(p), asked);
    return () => exchange(p.t, asked, value);
  },
  'POST /api/legate/oauth/revoke': async () => {
    const p = await someone();
    const client = await register(p.t, { token_endpoint_auth_method: 'none' });
    const { access_token } = await tokens(p.t, asPerson(p), client);
    return () => form(p.t, '/oauth/revoke', { token: access_token, client_id: client.client_id });
  },
};

/** Sends the request in the row of the matrix, as the first of these callers that the row permits. */
async function fromMatrix(endpoint: string): Promise<Act> {
  const { t } = await shared();
  const row = matrix[endpoint];
  if (!row) throw new Error(`${endpoint} has no row in the matrix`);
  const passes = (field: 'owner' | 'admin'): boolean => (row.want.everyone ?? row.want[field] ?? 403) < 400;
  const s = await newScene(t);
  await session(s);
  const { path, body } = await row.target(s);
  const method = endpoint.split(' ')[0] as string;
  const content =
    body instanceof URLSearchParams
      ? { raw: body.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } }
      : body === undefined
        ? {}
        : { body };
  if (passes('owner')) return () => t.call(method, path, { as: s.owner, ...content });
  if (passes('admin')) {
    const admin = await t.admin();
    return () => t.call(method, path, { as: admin, ...content });
  }
  const p = await someone();
  return () => t.call(method, path, { as: p.session, ...content });
}

interface Left {
  readonly type: string;
  readonly actor: Json;
}

/** Returns the events after `mark` in the ledger. */
async function eventsAfter(t: TestService, mark: number): Promise<Left[]> {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['type', 'change'])
    .where('seq', '>', mark)
    .where('type', '<>', 'audit')
    .orderBy('seq')
    .execute();
  return rows.map(({ type, change }) => ({ type, actor: JSON.parse(change ?? '{}').actor }));
}
const end = async (t: TestService): Promise<number> =>
  Number(
    (
      await t.legate.platform.database.read
        .selectFrom('head')
        .select('seq')
        .where('id', '=', 1)
        .executeTakeFirstOrThrow()
    ).seq,
  );

const changing = distinctRoutes((await shared()).t.legate.platform.config)
  .map(({ route, path }) => `${route.method} ${path}`)
  .filter((endpoint) => !/^(GET|HEAD|OPTIONS) /.test(endpoint));

describe('every endpoint that changes something emits an event with the actor', () => {
  it('names only endpoints that exist, each once', () => {
    const named = [...Object.keys(WITHOUT_EVENT), ...Object.keys(PREPARED), SETUP];
    expect(named.filter((endpoint) => !changing.includes(endpoint))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  it.each(changing.filter((endpoint) => !Object.hasOwn(WITHOUT_EVENT, endpoint)))('%s', async (endpoint) => {
    if (endpoint === SETUP) {
      const { t, token } = await emptyService();
      const body = { token, email: 'root@example.com', password: PASSWORD };
      expect((await t.call('POST', '/setup', { body })).status).toBe(200);
      return expectActors(await eventsAfter(t, 0));
    }
    const act = await (PREPARED[endpoint] ?? (() => fromMatrix(endpoint)))();
    const { t } = await shared();
    const mark = await end(t);
    const r = await act();
    expect(r.status, r.text).toBeLessThan(400);
    expectActors(await eventsAfter(t, mark));
  });
});

function expectActors(events: readonly Left[]): void {
  expect(events.length).toBeGreaterThan(0);
  for (const { type, actor } of events)
    expect(actor, type).toEqual(expect.objectContaining({ kind: expect.stringMatching(/^(user|apiToken|agent)$/) }));
}
