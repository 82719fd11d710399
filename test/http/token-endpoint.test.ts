import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import { ask, code, type Person, register, registerVouched, signUp } from '../support/oauth.ts';
import { BY_NATURE, type Raw, send } from '../support/over-socket.ts';
import { createTestService, type Json, type TestAgent, type TestService } from '../support/service.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ORIGIN = 'https://console.example';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

type Fields = Record<string, string> | string;

let t: TestService;
let server: Listening;
let client: Json;
let confidential: Json;
let agent: TestAgent;
let person: Person;
let reader: string;

beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { http: { trustedOrigins: [ORIGIN] } } });
  server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  client = await register(t);
  confidential = await registerVouched(t, { token_endpoint_auth_method: 'client_secret_basic' });
  const owner = await t.user();
  agent = await t.agent(owner, { type: 'service' });
  person = await signUp(t);
  reader = (await t.admin()).token;
});
afterAll(() => server.stop(1000));

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

/** Sends a request over a socket and through `fetch`, and expects the same answer. Values in the answers differ. */
async function both(path: string, headers: Record<string, string>, fields: Fields | Buffer): Promise<Raw> {
  const body = Buffer.isBuffer(fields) ? fields : Buffer.from(new URLSearchParams(fields).toString());
  const overSocket = await send(server.port, 'POST', path, headers, body);
  const { 'transfer-encoding': _, ...plain } = headers;
  const answer = await t.legate.fetch(
    new Request(`http://localhost:3000${path}`, {
      method: 'POST',
      headers: { ...plain, 'content-length': String(body.length) },
      body: body as unknown as BodyInit,
    }),
    { remoteAddress: '127.0.0.1' },
  );
  const same = ({ headers: { ratelimit: _, ...others }, text, ...raw }: Raw) => ({
    ...raw,
    headers: others,
    text: text.replace(/(?<="(access_token|refresh_token|jti|sub|client_id|agent_id|grant_id)":")[^"]+/g, ''),
  });
  const kept = [...answer.headers].filter(([name]) => !BY_NATURE.has(name));
  const inProcess = { status: answer.status, headers: Object.fromEntries(kept), text: await answer.text() };
  expect(same(overSocket), `${path} ${JSON.stringify(headers)} ${body}`).toEqual(same(inProcess));
  return overSocket;
}

describe('the endpoints for tokens, over a socket and through fetch', () => {
  it('have the same answers to every form of a request', async () => {
    const own = { grant_type: 'client_credentials' };
    const cases: [Record<string, string>, Fields | Buffer, status: number, path?: string][] = [
      [{ ...FORM, ...basic(agent.id, agent.token) }, own, 200],
      [FORM, { ...own, client_id: agent.id, client_secret: agent.token }, 200],
      [{ ...FORM, ...basic(agent.id, agent.token) }, { ...own, client_secret: agent.token }, 400],
      [{ ...FORM, ...basic(agent.id, 'wrong') }, own, 401],
      [{ ...FORM, authorization: 'Bearer x' }, own, 401],
      [{ ...FORM, cookie: 'legate_session=x' }, own, 401],
      [{ ...FORM, origin: 'https://any.example' }, own, 401],
      [{ ...FORM, origin: ORIGIN }, own, 401],
      [FORM, own, 401],
      [FORM, { grant_type: JWT_BEARER, assertion: 'a.b.c' }, 400],
      [FORM, { grant_type: JWT_BEARER }, 400],
      [FORM, { grant_type: 'refresh_token', refresh_token: 'x', client_id: client.client_id }, 400],
      [FORM, { grant_type: 'password' }, 400],
      [FORM, '', 400],
      [FORM, `grant_type=x&grant_type=y`, 400],
      [FORM, Buffer.from([0xff, 0x3d, 0xff]), 400],
      [FORM, { ...own, scope: 'x'.repeat(3000) }, 400],
      [FORM, { assertion: 'x'.repeat(66_000) }, 413],
      [{ 'content-type': 'application/json' }, Buffer.from('{"grant_type":"client_credentials"}'), 415],
      [{}, own, 415],
      [{ ...FORM, 'content-encoding': 'gzip' }, own, 415],
      [{ ...FORM, 'transfer-encoding': 'chunked' }, own, 401],
      [{ 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }, own, 401],
      [FORM, own, 401, '/oauth/token?x=1'],
      [FORM, own, 401, '/mcp/token'],
      [FORM, own, 401, '/token'],
      [FORM, own, 404, '/oauth/token/'],
      [FORM, { token: 'x', client_id: client.client_id }, 200, '/oauth/revoke'],
      [{ ...FORM, ...basic(confidential.client_id, confidential.client_secret) }, { token: 'x' }, 200, '/oauth/revoke'],
      [FORM, { token: 'x' }, 401, '/oauth/revoke'],
      [FORM, { token: 'x' }, 401, '/oauth/introspect'],
      [
        { ...FORM, ...basic(confidential.client_id, confidential.client_secret) },
        { token: 'x' },
        200,
        '/oauth/introspect',
      ],
      [{ ...FORM, authorization: `Bearer ${reader}` }, { token: agent.token }, 200, '/oauth/introspect'],
      [{ ...FORM, authorization: `Bearer ${agent.token}` }, { token: 'x' }, 403, '/oauth/introspect'],
      [{ ...FORM, authorization: 'Bearer x' }, { token: 'x' }, 401, '/oauth/introspect'],
    ];
    for (const [headers, fields, status, path = '/oauth/token'] of cases)
      expect((await both(path, headers, fields)).status, `${path} ${JSON.stringify(headers)} ${fields}`).toBe(status);
  });

  it('exchange a code and refresh over a socket', async () => {
    const asked = ask(client);
    const post = async (fields: Record<string, string>) => {
      const body = Buffer.from(new URLSearchParams({ client_id: client.client_id, ...fields }).toString());
      const r = await send(server.port, 'POST', '/oauth/token', FORM, body);
      return { status: r.status, body: JSON.parse(r.text) as Json };
    };
    const first = await post({
      grant_type: 'authorization_code',
      code: await code(t, person, asked),
      redirect_uri: asked.query['redirect_uri'] ?? '',
      code_verifier: asked.verifier,
    });
    expect(first.status).toBe(200);
    const again = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token };
    expect((await post(again)).status).toBe(200);
    expect((await post(again)).body.error).toBe('invalid_grant');
  });

  it('two credentials or two types in one request are refused', async () => {
    const { authorization } = basic(agent.id, agent.token);
    const body = Buffer.from('grant_type=client_credentials');
    const status = async (headers: Record<string, string | string[]>) =>
      (await send(server.port, 'POST', '/oauth/token', headers, body)).status;
    expect(await status({ ...FORM, authorization: [authorization, authorization] })).not.toBe(200);
    expect(await status({ 'content-type': [FORM['content-type'], 'text/plain'], authorization })).not.toBe(200);
    expect(await status({ ...FORM, authorization, host: 'a b' })).toBe(400);
  });

  it("the embedder's own sign-in sees the requests that Legate cannot judge", async () => {
    const seen: (string | null)[] = [];
    const embedded = await createTestService({
      authenticate: (request: Request) => {
        seen.push(request.headers.get('authorization'));
        return { userId: 'usr_admin', role: 'admin' as const };
      },
    });
    const other = await listen(embedded.legate, { port: 0, host: '127.0.0.1' });
    const r = await send(
      other.port,
      'POST',
      '/oauth/introspect',
      { ...FORM, authorization: 'Bearer of-the-application' },
      Buffer.from('token=x'),
    );
    expect([r.status, JSON.parse(r.text), seen]).toEqual([200, { active: false }, ['Bearer of-the-application']]);
    await other.stop(1000);
  });
});
