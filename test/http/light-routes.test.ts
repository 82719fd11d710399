import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import { BY_NATURE, send } from '../support/over-socket.ts';
import { createTestService, type TestService } from '../support/service.ts';

const password = 'correct horse battery';
const PATH = '/auth/session';

describe('GET /auth/session over a socket and through fetch', () => {
  let t: TestService;
  let server: Listening;
  let headersOf: Record<string, Record<string, string>>;
  beforeAll(async () => {
    t = await createTestService({ lasting: true });
    server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
    const signedUp = await t.call('POST', '/sign-up', {
      body: { email: 'ada@example.com', password, name: 'Ada' },
      headers: { 'user-agent': 'curl/8.5.0' },
    });
    const session = signedUp.body.token as string;
    const ended = (await t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } })).body
      .token as string;
    await t.call('POST', '/sign-out', { as: ended });
    const bob = await t.user();
    const agent = await t.agent(bob);
    const cookie = `${t.database.name}_session`;
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const lastChanged = `${session.slice(0, -1)}${session.endsWith('0') ? '1' : '0'}`;
    headersOf = {
      'a session as Bearer': bearer(session),
      'a session as cookie': { cookie: `${cookie}=${session}` },
      'the cookie among others': { cookie: `a=1; ${cookie}=${session}; b=2` },
      'the cookie from another site': {
        cookie: `${cookie}=${session}`,
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      },
      'two cookies of the same name': { cookie: `${cookie}=${session}; ${cookie}=x` },
      'two cookies, the wrong one first': { cookie: `${cookie}=x; ${cookie}=${session}` },
      'Bearer and cookie': { ...bearer(bob.token), cookie: `${cookie}=${session}` },
      'a wrong Bearer and a right cookie': { ...bearer('x'), cookie: `${cookie}=${session}` },
      'an API token': bearer(bob.token),
      'a narrowed API token': bearer(await t.apiToken(bob.id, ['agents:read'])),
      'an agent': bearer(agent.token),
      'an API token as cookie': { cookie: `${cookie}=${bob.token}` },
      'a session that ended': bearer(ended),
      'a session that ended, as cookie': { cookie: `${cookie}=${ended}` },
      nothing: {},
      'another cookie': { cookie: 'other=1' },
      'an empty cookie': { cookie: `${cookie}=` },
      'a changed letter': bearer(lastChanged),
      'a changed letter, as cookie': { cookie: `${cookie}=${lastChanged}` },
      'another scheme': { authorization: `Basic ${session}` },
      'no scheme': { authorization: session },
      'lower case and spaces': { authorization: `bearer   ${session} ` },
      'an empty credential': { authorization: 'Bearer ' },
      'a long credential': bearer('x'.repeat(20_000)),
      'a long cookie': { cookie: `${cookie}=${'x'.repeat(20_000)}` },
      'a body': { ...bearer(session), 'content-length': '2' },
      'a long User-Agent': { ...bearer(session), 'user-agent': 'x'.repeat(10_000) },
      'invalid text before the address': { ...bearer(session), 'x-forwarded-for': 'what, is, this' },
    };
  });
  afterAll(() => server.stop(1000));

  it('have the same responses, for any form of the address', async () => {
    const statuses: Record<string, number> = {};
    for (const [name, headers] of Object.entries(headersOf)) {
      for (const path of [PATH, `${PATH}?`, `${PATH}?x=1`]) {
        const overSocket = await send(
          server.port,
          'GET',
          path,
          headers,
          'content-length' in headers ? Buffer.from('{}') : undefined,
        );
        const { 'content-length': _, ...plain } = headers;
        const answer = await t.legate.fetch(new Request(`http://localhost:3000${path}`, { headers: plain }), {
          remoteAddress: '127.0.0.1',
        });
        const kept = [...answer.headers].filter(([n]) => !BY_NATURE.has(n));
        expect(overSocket, `${name} ${path}`).toEqual({
          status: answer.status,
          headers: Object.fromEntries(kept),
          text: await answer.text(),
        });
        statuses[name] = overSocket.status;
      }
    }
    expect(Object.values(statuses).filter((s) => s === 200).length).toBeGreaterThanOrEqual(10);
    expect(new Set(Object.values(statuses))).toEqual(new Set([200, 401, 403]));
  });

  it('HEAD has the same headers and no body; other methods are 405', async () => {
    const headers = headersOf['a session as Bearer'] ?? {};
    const head = await send(server.port, 'HEAD', PATH, headers);
    expect([head.status, head.text]).toEqual([200, '']);
    expect((await send(server.port, 'POST', PATH, headers)).status).toBe(405);
  });

  it('a request with two credentials is refused, and one with an invalid Host is 400', async () => {
    const { authorization = '' } = headersOf['a session as Bearer'] ?? {};
    expect((await send(server.port, 'GET', PATH, { authorization: [authorization, 'Bearer x'] })).status).toBe(401);
    expect((await send(server.port, 'GET', PATH, { authorization, host: 'a b' })).status).toBe(400);
  });

  it('a session that ends is refused in the next request of the same connection', async () => {
    const { token } = (await t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } })).body;
    const ask = async () =>
      (await fetch(`http://127.0.0.1:${server.port}${PATH}`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    await t.call('POST', '/sign-out', { as: token });
    expect([await ask(), await ask()]).toEqual([401, 401]);
  });

  it('changes of the person are shown immediately', async () => {
    const { token, user } = (await t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } })).body;
    const name = async () =>
      (
        await (
          await fetch(`http://127.0.0.1:${server.port}${PATH}`, { headers: { authorization: `Bearer ${token}` } })
        ).json()
      ).user.name;
    expect(await name()).toBe('Ada');
    await t.call('PATCH', `/users/${user.id}`, { as: await t.admin(), body: { name: 'Countess' } });
    expect(await name()).toBe('Countess');
  });
});
