import { beforeAll, describe, expect, it, vi } from 'vitest';
import { answerDevice, pollDevice, startDevice } from '../../../test/support/device.ts';
import {
  type Asked,
  ask,
  authorizePath,
  claimsOf,
  code,
  consent,
  consentPath,
  consentTokenOf,
  exchange,
  form,
  locationOf,
  opened,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
});

let count = 0;
async function server(more: Json = {}): Promise<Json> {
  const body = { name: `server-${++count}`, endpoint: `https://mcp.example/${count}`, ...more };
  return (await t.call('POST', '/mcp/servers', { as: admin, body })).body;
}
const grantsOf = async (as: Person): Promise<Json[]> => (await t.call('GET', '/oauth/grants', { as })).body;
const statusOf = async (as: Person, agent: string) => (await t.call('GET', `/agents/${agent}`, { as })).body.status;
const subOf = (got: Json): string => claimsOf(got['access_token']).sub;
const eventsSince = async (known: number): Promise<Json[]> => {
  const all: Json[] = (await t.call('GET', '/events?limit=1000', { as: admin })).body;
  return all.slice(0, all.length - known).reverse();
};

const ways: [string, string, (endpoint: string) => Json | undefined][] = [
  ['deleting a server', 'DELETE', () => undefined],
  ['moving a server', 'PATCH', (endpoint) => ({ endpoint: `${endpoint}/moved` })],
];

describe.each(ways)('%s', (_way, method, bodyFor) => {
  const reason = method === 'DELETE' ? 'server-deleted' : 'server-moved';
  const send = (
    { id, endpoint }: Json,
    { as = admin, query = '' }: { as?: { token: string }; query?: string } = {},
  ) => {
    const body = bodyFor(endpoint);
    return t.call(method, `/mcp/servers/${id}${query}`, { as, ...(body ? { body } : {}) });
  };

  it('leaves no grant and no consent that requests get meanwhile', async () => {
    const someone = await signUp(t);
    const headers = { authorization: `Bearer ${someone.token}` };
    const app = await register(t);
    const body = { ownerId: someone.id, name: 'service', type: 'service' };
    const agent = (await t.call('POST', '/agents', { as: someone, body })).body;
    const own = { grant_type: 'client_credentials', client_id: agent.id, client_secret: agent.token };
    const asked: Asked[] = [];
    for (let i = 0; i < 12; i++) {
      const gone = await server();
      const request = ask(app, { resource: gone.endpoint });
      asked.push(request);
      const page = await opened(t, authorizePath(request), { headers });
      const fields = { decision: 'allow', agent: 'new', 'scope:mcp:read': 'on', consentToken: consentTokenOf(page) };
      const [answer, got] = await Promise.all([
        form(t, consentPath(request), fields, headers),
        form(t, '/oauth/token', { ...own, resource: gone.endpoint }),
        send(gone),
      ]);
      if (got.status !== 200) expect(got.body.error).toBe('invalid_target');
      const value = answer.status === 303 ? locationOf(answer).searchParams.get('code') : null;
      if (value !== null) expect((await exchange(t, request, value)).status).toBe(400);
    }
    expect(await grantsOf(someone)).toEqual([]);
    for (const request of asked) {
      await server({ endpoint: request.query['resource'] });
      expect((await opened(t, authorizePath(request), { headers })).status).toBe(200);
    }
  });

  it('leaves no answer to a device that a person gives meanwhile', async () => {
    const someone = await signUp(t);
    const gone = await server();
    const { client, device } = await startDevice(t, { resource: gone.endpoint });
    const { ledger } = t.legate.platform;
    const change = ledger.change.bind(ledger);
    // The first change finds the request of the device, the second one answers it.
    const changing = vi.spyOn(ledger, 'change').mockImplementationOnce(change);
    changing.mockImplementationOnce(async (...args) => {
      expect((await send(gone)).status).toBeLessThan(300);
      return change(...args);
    });
    expect((await answerDevice(t, someone, device.user_code)).status).toBe(400);
    changing.mockRestore();
    expect((await t.call('GET', '/agents', { as: someone })).body).toEqual([]);
    await server({ endpoint: gone.endpoint });
    expect((await pollDevice(t, client, device.device_code)).body.error).toBe('authorization_pending');
  });

  it('ends the grants for it, with their agents, as its preview says', async () => {
    const [someone, other] = [await signUp(t), await signUp(t)];
    const app = await register(t);
    const [gone, kept] = [await server(), await server()];
    const first = await tokens(t, someone, app, { resource: gone.endpoint });
    const second = await tokens(t, other, app, { resource: gone.endpoint });
    const elsewhere = await tokens(t, other, app, { resource: kept.endpoint });
    const known = (await eventsSince(0)).length;
    const shown = await send(gone, { query: '?preview=true' });
    expect([shown.status, shown.body.grants, await eventsSince(known)]).toEqual([200, 2, []]);
    expect(shown.body.loses.map((l: Json) => l.agentId)).toEqual([subOf(first)]);
    expect((await send(gone)).status).toBeLessThan(300);
    const events = await eventsSince(known);
    expect(events.map(({ type }) => type)).toEqual(shown.body.events.map((e: Json) => e['type']));
    const ended = events.filter(({ type }) => type === 'grant.revoked');
    expect(ended.map(({ agentId }) => agentId).sort()).toEqual([subOf(first), subOf(second)].sort());
    for (const event of ended)
      expect(event).toMatchObject({
        actor: { kind: 'apiToken', userId: admin.id },
        data: { clientId: app.client_id, reason },
        before: { resource: gone.endpoint },
      });
    expect(await grantsOf(someone)).toEqual([]);
    expect(await grantsOf(other)).toMatchObject([{ resource: kept.endpoint }]);
    expect((await t.call('GET', '/account/apps', { as: someone })).text).not.toContain('name="grant"');
    expect(await statusOf(someone, subOf(first))).toBe('revoked');
    expect([subOf(second), await statusOf(other, subOf(second))]).toEqual([subOf(elsewhere), 'active']);
    expect((await refreshWith(t, app, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refreshWith(t, app, elsewhere.refresh_token)).status).toBe(200);
  });

  it('keeps an agent that the person chose, and takes back consents and codes', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const gone = await server();
    const body = { ownerId: someone.id, name: 'mine', type: 'delegated' };
    const mine = (await t.call('POST', '/agents', { as: someone, body })).body.id;
    const request = ask(app, { resource: gone.endpoint });
    const location = locationOf(await consent(t, someone, request, { agent: mine }));
    expect((await exchange(t, request, location.searchParams.get('code') ?? '')).status).toBe(200);
    const unused = ask(app, { resource: gone.endpoint });
    const pending = await code(t, someone, unused);
    await send(gone);
    expect(await statusOf(someone, mine)).toBe('active');
    await server({ endpoint: gone.endpoint });
    expect((await exchange(t, unused, pending)).body.error).toBe('invalid_grant');
    expect(await grantsOf(someone)).toEqual([]);
    expect((await opened(t, authorizePath(ask(app, { resource: gone.endpoint })), { as: someone })).status).toBe(200);
  });

  it('ends no grant that another server, or this service itself, still serves', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const gone = await server();
    await server({ endpoint: gone.endpoint });
    await tokens(t, someone, app, { resource: gone.endpoint });
    const own = await server({ endpoint: 'http://localhost:3000' });
    const got = await tokens(t, someone, app);
    for (const one of [gone, own]) {
      expect((await send(one, { query: '?preview=true' })).body).toMatchObject({ grants: 0, loses: [] });
      expect((await send(one)).status).toBeLessThan(300);
    }
    expect((await grantsOf(someone)).map(({ resource }) => resource)).toEqual(['http://localhost:3000', gone.endpoint]);
    expect((await t.legate.mcp.validateToken(got['access_token'])).valid).toBe(true);
  });

  it('ends nothing for a person who is not an administrator, and for an unknown id', async () => {
    const someone = await signUp(t);
    const one = await server();
    await tokens(t, someone, await register(t), { resource: one.endpoint });
    expect((await send(one, { as: someone })).status).toBe(403);
    expect((await send({ ...one, id: 'mcp_unknown' })).status).toBe(404);
    expect(await grantsOf(someone)).toHaveLength(1);
  });
});

describe('changing a server', () => {
  it('ends nothing if its endpoint stays', async () => {
    const someone = await signUp(t);
    const one = await server();
    await tokens(t, someone, await register(t), { resource: one.endpoint });
    const body = { name: `${one.name}-renamed`, endpoint: one.endpoint, tools: ['search'] };
    expect((await t.call('PATCH', `/mcp/servers/${one.id}`, { as: admin, body })).status).toBe(200);
    expect(await grantsOf(someone)).toHaveLength(1);
  });

  it('ends the grants for its endpoint if an application registers its name elsewhere', async () => {
    const someone = await signUp(t);
    const one = await server();
    await tokens(t, someone, await register(t), { resource: one.endpoint });
    await t.legate.mcp.registerServer({ name: one.name, endpoint: `${one.endpoint}/elsewhere` });
    expect(await grantsOf(someone)).toEqual([]);
  });
});
