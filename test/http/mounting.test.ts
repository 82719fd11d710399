import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import { expressLegate, fastifyLegate, honoLegate, honoMcp } from '../../src/index.ts';
import { createTestService, type TestService } from '../support/service.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listening(listener: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const mounted: Record<string, (t: TestService) => Promise<string>> = {
  express: async (t) => {
    const app = express();
    app.use(expressLegate(t.legate));
    app.use(express.json());
    app.post('/own', (request, response) => response.send(request.body));
    return listening(app);
  },
  fastify: async (t) => {
    const app = fastify();
    await app.register(fastifyLegate(t.legate));
    app.post('/own', async (request) => request.body);
    closers.push(() => app.close());
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
};

describe.each(Object.entries(mounted))('mounted in %s', (_, start) => {
  const post = (body: object, token?: string): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  });

  it("answers at Legate's paths with the address of the connection, and leaves others to the application", async () => {
    const t = await createTestService({ config: { http: { restPath: '/legate' } } });
    const owner = await t.user();
    const created = await t.call('POST', '/legate/agents', {
      as: owner,
      body: {
        ownerId: owner.id,
        name: 'a',
        type: 'service',
        permissions: [{ resource: 'db:x', actions: ['read'], constraints: { ipAllowlist: ['127.0.0.1'] } }],
      },
    });
    const base = await start(t);
    const ask = post({ action: 'read', resource: 'db:x' }, created.body.token);
    for (const path of ['/legate/authorize', '/legate/authorize?']) {
      const answer = await fetch(base + path, ask);
      expect([answer.status, await answer.json()]).toMatchObject([200, { allowed: true }]);
    }
    expect((await fetch(`${base}/.well-known/oauth-authorization-server`)).status).toBe(200);
    for (const path of ['/legate/console', '/legate/console/', '/legate/console/agents'])
      expect((await fetch(base + path, { redirect: 'manual' })).status, path).toBe(303);
    expect(await (await fetch(`${base}/own`, post({ n: 1 }))).json()).toEqual({ n: 1 });
    for (const path of ['/authorize', '/nothing', '/legate/nothing'])
      expect((await fetch(base + path, { method: 'POST' })).headers.get('x-request-id')).toBeNull();
  });
});

it('a path with more segments than an endpoint belongs to the application', async () => {
  const { legate } = await createTestService();
  const app = new Hono();
  app.use(honoLegate(legate));
  app.notFound((c) => c.text('own', 404));
  const user = 'usr_01k9m2v8t4000000000000000a';
  for (const path of [`/users/${user}/photos`, '/account/approvals/a/b', '/gateway/a/mcp/b', '/docs/a/b'])
    expect([path, legate.handles(path), await (await app.request(path)).text()]).toEqual([path, false, 'own']);
  for (const path of [
    `/users/${user}`,
    `/users/a%2Fb`,
    '/agents/a/trust/b',
    '/console/',
    '/console/a/b',
    '/gateway/a/mcp',
  ])
    expect([path, legate.handles(path)]).toEqual([path, true]);
});

it('unknown paths of SCIM have its errors', async () => {
  const { legate } = await createTestService({ config: { http: { restPath: '/v1' } } });
  const app = new Hono();
  app.use(honoLegate(legate));
  for (const [path, status] of [
    ['/v1/scim/v2/Me', 501],
    ['/v1/scim/v2/Bulk', 404],
    ['/v1/scim/v2/Users/a/b', 404],
    ['/v1/scim/v2', 404],
  ] as const) {
    const answer = await app.request(path, { method: 'POST' });
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, status, 'application/scim+json']);
  }
  for (const path of ['/v1/scim', '/v1/scim/v2s', '/scim/v2/Bulk'])
    expect([path, legate.handles(path)]).toEqual([path, false]);
});

it('a guard at /mcp covers its endpoint, and Legate answers at its own paths below /mcp', async () => {
  const t = await createTestService();
  const base = t.legate.baseUrl;
  const server = await t.legate.mcp.registerServer({ name: 'notes', endpoint: `${base}/mcp`, tools: ['today'] });
  const app = new Hono();
  app.use(honoMcp({ legate: t.legate, server }));
  app.use(honoLegate(t.legate));
  app.all('/mcp', (c) => c.text('reached'));
  app.all('/mcp/own', (c) => c.text('reached'));
  const ask = (method: string, path: string, body?: object): Promise<Response> =>
    Promise.resolve(
      app.request(path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );
  for (const path of ['/mcp', '/mcp/', '/mcp/own', '/mcp/register/..', '/mcp/%72egister'])
    expect([path, (await ask('POST', path)).status]).toEqual([path, 401]);
  const registered = await ask('POST', '/mcp/register', { redirect_uris: ['https://client.example/cb'] });
  expect(registered.status).toBe(201);
  const listed = await ask('GET', '/mcp/servers');
  expect([listed.status, listed.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
  expect(await listed.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
});

describe('the address of clients of an embedded service', () => {
  async function embedded(http: object = {}) {
    const warnings: unknown[][] = [];
    const silent = (): void => {};
    const log = { debug: silent, info: silent, error: silent, warn: (...said: unknown[]) => void warnings.push(said) };
    const t = await createTestService({ config: { http: http as never }, log: log as never });
    const ips = async (): Promise<(string | null)[]> =>
      (
        await t.legate.platform.database.read
          .selectFrom('stream_events')
          .select('ip')
          .where('type', '=', 'audit')
          .orderBy('seq')
          .execute()
      ).map(({ ip }) => ip);
    const agent = await t.agent(await t.user());
    const ask = (headers: Record<string, string>, connection?: { remoteAddress: string }) =>
      t.legate.fetch(
        new Request(`${t.legate.baseUrl}/authorize`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${agent.token}`, ...headers },
          body: '{"action":"read","resource":"a:b"}',
        }),
        connection,
      );
    return { t, warnings, ask, ips };
  }

  it('is reported as missing once in the log if fetch is called without it', async () => {
    const { warnings, ask, ips } = await embedded();
    await ask({}, { remoteAddress: '192.0.2.7' });
    expect(warnings).toEqual([]);
    for (let i = 0; i < 3; i++) await ask({ 'x-forwarded-for': '192.0.2.9', 'x-real-ip': '192.0.2.9' });
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).toContain('http.clientAddressHeader');
    expect(await ips()).toEqual(['192.0.2.7', null, null, null]);
  });

  it('is read from the configured header, only if the connection has none', async () => {
    const { warnings, ask, ips } = await embedded({ clientAddressHeader: 'X-Real-IP', trustedProxies: ['10.0.0.0/8'] });
    await ask({ 'x-real-ip': '192.0.2.8' });
    await ask({ 'x-real-ip': '192.0.2.66' }, { remoteAddress: '192.0.2.7' });
    await ask({ 'x-real-ip': 'nonsense' });
    await ask({});
    await ask({ 'x-real-ip': '10.0.0.1', 'x-forwarded-for': '203.0.113.5, 192.0.2.10' });
    expect(await ips()).toEqual(['192.0.2.8', '192.0.2.7', null, null, '192.0.2.10']);
    expect(warnings).toEqual([]);
  });

  it('is the last entry of a list that is not a trusted proxy', async () => {
    const { ask, ips } = await embedded({ clientAddressHeader: 'x-forwarded-for', trustedProxies: ['10.0.0.0/8'] });
    await ask({ 'x-forwarded-for': '198.51.100.1, 192.0.2.11' });
    await ask({ 'x-forwarded-for': '198.51.100.1, 192.0.2.12, 10.0.0.1' });
    expect(await ips()).toEqual(['192.0.2.11', '192.0.2.12']);
  });
});

it('404 of an unknown path names the documentation at the mount', async () => {
  for (const [restPath, docs] of [
    ['/', '/docs'],
    ['/v1', '/v1/docs'],
  ] as const) {
    const t = await createTestService({ config: { http: { restPath } } });
    const { status, body } = await t.call('GET', '/nothing');
    expect([status, body.error.message]).toEqual([404, `No such endpoint. See ${docs}.`]);
    expect((await t.call('GET', docs)).status).toBe(200);
  }
});
