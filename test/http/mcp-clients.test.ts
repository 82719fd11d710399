import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examine } from '../../src/cli/doctor/examine.ts';
import { honoMcp, type McpAuth } from '../../src/mcp/guard/protect.ts';
import { webAnswer } from '../support/mcp.ts';
import { type Connect, connectV1, connectV2, provider, REDIRECT } from '../support/mcp-clients.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { WebPerson } from '../support/web-person.ts';

/** A service with a guarded MCP server on the same origin, listening on loopback. */
let t: TestService;
let http: Server;
let base: string;
let endpoint: string;
/** The streams that clients have opened. */
let streams = 0;

beforeAll(async () => {
  let handle: RequestListener | undefined;
  http = createServer((req, res) => handle?.(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  endpoint = `${base}/notes`;
  t = await createTestService({ lasting: true, config: { baseUrl: base } });
  const server = await t.legate.mcp.registerServer({ name: 'notes', endpoint, tools: ['search', 'delete', 'who'] });
  await t.legate.mcp.registerServer({ name: 'other', endpoint: `${base}/other` });
  const app = new Hono<{ Variables: { authInfo: McpAuth | undefined } }>();
  app.use(honoMcp({ legate: t.legate, server }));
  app.all('*', (c) => {
    if (c.req.path !== '/notes') return t.legate.fetch(c.req.raw, { remoteAddress: '127.0.0.1' });
    if (c.req.method === 'GET') streams++;
    return webAnswer(c.req.raw, c.get('authInfo'), false);
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  handle = (req, res) => void listener(req, res);
});
afterAll(
  () =>
    new Promise<void>((resolve) => {
      http.close(() => resolve());
      http.closeAllConnections();
    }),
);

const clients: Readonly<Record<string, Connect>> = {
  'the MCP SDK, version 1': connectV1,
  'the MCP client package, version 2': connectV2(),
};

const status = async (token: string): Promise<number> =>
  (
    await fetch(endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    })
  ).status;

describe.each(Object.entries(clients))('%s, unmodified', (_name, connect) => {
  it('gets from 401 to a tool call: registration, sign-in, consent, token', async () => {
    const person = new WebPerson();
    const { id, token: session } = await person.signUp(base);
    const auth = provider();
    const client = await connect(endpoint, auth, person);
    expect(await client.tools()).toEqual(['search', 'delete', 'who']);
    expect(await client.call('search', { query: 'milk' })).toMatchObject([{ text: 'found milk' }]);
    const [who] = (await client.call('who')) as { text: string }[];
    const { agentId, userId } = JSON.parse(who?.text ?? '') as { agentId: string; userId: string };
    expect(userId).toBe(id);
    const agent = (await t.call('GET', `/agents/${agentId}`, { as: session })).body;
    expect(agent).toMatchObject({ type: 'delegated', ownerId: id, status: 'active' });
    const entries = (await t.call('GET', `/audit?agentId=${agentId}`, { as: session })).body;
    expect(entries.map((e: { resource: string; result: string }) => [e.resource, e.result])).toEqual([
      ['mcp:notes:who', 'allowed'],
      ['mcp:notes:search', 'allowed'],
    ]);
    await client.close();
  });

  it("is limited to the agent's permissions: a removed tool is no longer listed, and refused", async () => {
    const person = new WebPerson();
    const { token: session } = await person.signUp(base);
    const client = await connect(endpoint, provider(), person);
    const { agentId } = JSON.parse(((await client.call('who')) as { text: string }[])[0]?.text ?? '') as {
      agentId: string;
    };
    const permissions = ['search', 'who'].map((tool) => ({ resource: `mcp:notes:${tool}`, actions: ['execute'] }));
    expect((await t.call('PATCH', `/agents/${agentId}`, { as: session, body: { permissions } })).status).toBe(200);
    expect(await client.tools()).toEqual(['search', 'who']);
    expect(await client.call('delete', { id: '1' })).toMatchObject([
      { text: expect.stringContaining('NO_PERMISSION') },
    ]);
    await client.close();
  });

  it('gets 401 immediately when the grant, the agent or the account ends', async () => {
    const admin = await t.admin();
    const ends: Record<string, (o: { session: string; agentId: string; userId: string }) => Promise<unknown>> = {
      grant: async ({ session }) => {
        const [grant] = (await t.call('GET', '/oauth/grants', { as: session })).body;
        return t.call('DELETE', `/oauth/grants/${grant.id}`, { as: session });
      },
      agent: ({ session, agentId }) => t.call('DELETE', `/agents/${agentId}`, { as: session }),
      account: ({ userId }) => t.call('DELETE', `/users/${userId}`, { as: admin }),
    };
    for (const [what, end] of Object.entries(ends)) {
      const person = new WebPerson();
      const { token: session } = await person.signUp(base);
      const auth = provider();
      const client = await connect(endpoint, auth, person);
      const { agentId, userId } = JSON.parse(((await client.call('who')) as { text: string }[])[0]?.text ?? '') as {
        agentId: string;
        userId: string;
      };
      const token = auth.kept.tokens?.access_token as string;
      expect([what, await status(token)]).toEqual([what, 200]);
      await end({ session, agentId, userId });
      expect([what, await status(token)]).toEqual([what, 401]);
      await client.close();
    }
  });

  it('continues with its refresh token once the access token has expired', async () => {
    const person = new WebPerson();
    await person.signUp(base);
    const auth = provider();
    const before = streams;
    const client = await connect(endpoint, auth, person);
    // The stream that a client opens after it connects would otherwise refresh at the same time, which ends the grant.
    while (streams === before) await new Promise((resolve) => setImmediate(resolve));
    const first = auth.kept.tokens?.access_token as string;
    t.clock.advance(3601_000);
    expect(await status(first)).toBe(401);
    expect(await client.call('search', { query: 'eggs' })).toMatchObject([{ text: 'found eggs' }]);
    expect(auth.kept.tokens?.access_token).not.toBe(first);
    await client.close();
  });

  it('is refused when the person denies', async () => {
    const person = new WebPerson();
    await person.signUp(base);
    const auth = provider();
    const denying = Object.assign(Object.create(person) as WebPerson, {
      decide: (address: string) => person.decide(address, 'deny'),
    });
    await expect(connect(endpoint, auth, denying)).rejects.toThrow();
    expect(auth.kept.tokens).toBeUndefined();
  });
});

describe('a token of one server', () => {
  it('is not valid for another, nor for the API of the service', async () => {
    const person = new WebPerson();
    await person.signUp(base);
    const auth = provider();
    await (await connectV1(endpoint, auth, person)).close();
    const token = auth.kept.tokens?.access_token as string;
    expect((await t.legate.mcp.validateToken(token, { audience: endpoint })).valid).toBe(true);
    for (const audience of [`${base}/other`, `${endpoint}/`, base, undefined])
      expect(await t.legate.mcp.validateToken(token, audience === undefined ? {} : { audience })).toEqual({
        valid: false,
      });
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(401);
  });
});

describe('mcp.validateToken', () => {
  it('returns the fields of specification 2.9, and nothing for a scope that was not granted', async () => {
    const person = new WebPerson();
    const { id } = await person.signUp(base);
    const auth = provider({ scope: 'mcp:read' });
    const client = await connectV1(endpoint, auth, person);
    await client.close();
    const token = auth.kept.tokens?.access_token as string;
    const validation = await t.legate.mcp.validateToken(token, { audience: endpoint, scopes: ['mcp:read'] });
    expect(validation).toMatchObject({
      valid: true,
      agentId: expect.stringMatching(/^agt_/),
      userId: id,
      scopes: expect.arrayContaining(['mcp:read']),
      expiresAt: expect.any(Date),
    });
    expect(await t.legate.mcp.validateToken(token, { audience: endpoint, scopes: ['agents:write'] })).toEqual({
      valid: false,
    });
    for (const bad of [
      '',
      'x',
      `${token}x`,
      token.slice(0, -4),
      token.replace(/^[^.]+/, Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')),
    ])
      expect(await t.legate.mcp.validateToken(bad, { audience: endpoint })).toEqual({ valid: false });
  });
});

describe('the doctor, at a server that is guarded', () => {
  it('finds no broken step', async () => {
    const person = new WebPerson();
    await person.signUp(base);
    const reports = await examine({
      server: endpoint,
      redirectUri: REDIRECT,
      login: async (address) => (await person.decide(address)).searchParams,
      say: () => {},
    });
    expect(reports.map((r) => [r.step, r.outcome, r.findings])).toEqual(
      ['reach', 'challenge', 'resource metadata', 'issuer metadata', 'registration', 'authorize', 'token', 'call'].map(
        (step) => [step, 'fine', []],
      ),
    );
  });
});
