import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
});

let count = 0;
const wanted = (more: Record<string, unknown> = {}) => ({
  name: `server-${++count}`,
  endpoint: `https://mcp.example.com/${count}`,
  ...more,
});
const register = (body: Record<string, unknown>, as: { token: string } = admin) =>
  t.call('POST', '/mcp/servers', { as, body });

describe('POST /mcp/servers', () => {
  it('201 with all fields of specification 2.8', async () => {
    const body = wanted({ tools: ['search', 'create_issue'], authRequired: false, rateLimit: { rpm: 60 } });
    const r = await register(body);
    expect(r.status).toBe(201);
    expect(r.body).toEqual({
      ...body,
      id: expect.stringMatching(/^mcp_[0-9a-z]{26}$/),
      createdAt: '2030-01-15T10:10:00.000Z',
      updatedAt: '2030-01-15T10:10:00.000Z',
    });
  });

  it('201 with defaults: no tools, a credential required, no limit', async () => {
    const r = await register(wanted());
    expect([r.status, r.body.tools, r.body.authRequired, 'rateLimit' in r.body]).toEqual([201, [], true, false]);
  });

  it.each([
    'http://localhost:8080/mcp',
    'http://127.0.0.1:1/',
    'http://127.9.9.9/x',
    'http://[::1]:9/mcp',
    'https://mcp.example.com',
    'https://h/%7e?x=1',
  ])('201: stores the endpoint %s byte for byte', async (endpoint) => {
    const r = await register(wanted({ endpoint }));
    expect([r.status, r.body.endpoint]).toEqual([201, endpoint]);
  });

  it.each([
    [{ endpoint: 'http://mcp.example.com/mcp' }, 'endpoint'],
    [{ endpoint: 'http://127.0.0.1.example.com/' }, 'endpoint'],
    [{ endpoint: 'http://localhost.example.com/' }, 'endpoint'],
    [{ endpoint: 'ftp://mcp.example.com/' }, 'endpoint'],
    [{ endpoint: '/mcp' }, 'endpoint'],
    [{ endpoint: 'https:mcp.example.com' }, 'endpoint'],
    [{ endpoint: 'https://mcp.example.com/#a' }, 'endpoint'],
    [{ endpoint: 'https://user:secret@mcp.example.com/' }, 'endpoint'],
    [{ endpoint: 'https://mcp.example.com/"x"' }, 'endpoint'],
    [{ endpoint: 'https://mcp.example.com/\\' }, 'endpoint'],
    [{ endpoint: 'https://mcp.example.com/a b' }, 'endpoint'],
    [{ endpoint: 'https://bücher.example/' }, 'endpoint'],
    [{ endpoint: `https://mcp.example.com/${'x'.repeat(2048)}` }, 'endpoint'],
    [{ name: 'a:b' }, 'name'],
    [{ name: '*' }, 'name'],
    [{ name: ' a' }, 'name'],
    [{ name: '' }, 'name'],
    [{ tools: ['a:b'] }, 'tools.0'],
    [{ tools: ['*'] }, 'tools.0'],
    [{ tools: Array(501).fill('x') }, 'tools'],
    [{ rateLimit: {} }, 'rateLimit.rpm'],
    [{ rateLimit: { rpm: -1 } }, 'rateLimit.rpm'],
    [{ rateLimit: { rpm: 1.5 } }, 'rateLimit.rpm'],
    [{ rateLimit: { rpm: 1, rps: 1 } }, 'rateLimit.rps'],
    [{ id: 'mcp_x' }, 'id'],
  ])('400: %j', async (more, path) => {
    const r = await register(wanted(more));
    expect([r.status, r.body.error.code, r.body.error.details.issues[0].path]).toEqual([
      400,
      'VALIDATION_FAILED',
      path,
    ]);
  });

  it('401 and 403', async () => {
    const alice = await t.user();
    const agent = await t.agent(alice);
    expect([
      (await t.call('POST', '/mcp/servers', { body: wanted() })).status,
      (await register(wanted(), alice)).status,
      (await register(wanted(), agent)).status,
    ]).toEqual([401, 403, 403]);
  });

  it('422 for a name in use: one of 10 concurrent requests gets it', async () => {
    const body = wanted();
    const all = await Promise.all(Array.from({ length: 10 }, () => register(body)));
    expect(all.map((r) => r.status).sort()).toEqual([201, ...Array(9).fill(422)]);
    expect(all.find((r) => r.status === 422)?.body.error.code).toBe('MCP_SERVER_NAME_IN_USE');
  });
});

describe('/mcp/servers/:id', () => {
  it('can be listed, read, changed and removed', async () => {
    const one = (await register(wanted({ tools: ['a'], rateLimit: { rpm: 5 } }))).body;
    const path = `/mcp/servers/${one.id}`;
    expect((await t.call('GET', path, { as: admin })).body).toEqual(one);
    expect((await t.call('GET', '/mcp/servers', { as: admin })).body).toContainEqual(one);

    t.clock.advance(5);
    const changed = await t.call('PATCH', path, {
      as: admin,
      body: { tools: ['b'], authRequired: false, rateLimit: null },
    });
    const { rateLimit: _, ...rest } = one;
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...rest, tools: ['b'], authRequired: false, updatedAt: expect.not.stringMatching(one.updatedAt) },
    ]);
    t.clock.advance(5);
    expect((await t.call('PATCH', path, { as: admin, body: { tools: ['b'] } })).body).toEqual(changed.body);

    expect((await t.call('DELETE', path, { as: admin })).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const r = await t.call(method, path, { as: admin, ...(method === 'PATCH' ? { body: {} } : {}) });
      expect([r.status, r.body.error.code]).toEqual([404, 'MCP_SERVER_NOT_FOUND']);
    }
  });

  it('404 for an invalid id', async () => {
    for (const id of ['x', '%00', 'mcp_00000000000000000000000000'])
      expect((await t.call('GET', `/mcp/servers/${id}`, { as: admin })).status).toBe(404);
  });

  it('422 for the name of another server; a server may keep its own name', async () => {
    const [one, two] = [(await register(wanted())).body, (await register(wanted())).body];
    expect(
      (await t.call('PATCH', `/mcp/servers/${one.id}`, { as: admin, body: { name: two.name } })).body.error.code,
    ).toBe('MCP_SERVER_NAME_IN_USE');
    expect((await t.call('PATCH', `/mcp/servers/${one.id}`, { as: admin, body: { name: one.name } })).status).toBe(200);
  });
});

describe('mcp.registerServer', () => {
  it('returns the registration with its id, and the same id at the next start', async () => {
    const { mcp } = t.legate;
    const input = {
      name: 'in-process',
      endpoint: 'http://localhost:3000/in-process',
      tools: ['a'],
      authRequired: true,
      rateLimit: { rpm: 60 },
    };
    const first = await mcp.registerServer(input);
    expect(first).toEqual({
      ...input,
      id: expect.stringMatching(/^mcp_/),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    t.clock.advance(1000);
    expect(await mcp.registerServer(input)).toEqual(first);
    const changed = await mcp.registerServer({ ...input, tools: ['a', 'b'] });
    expect([changed.id, changed.createdAt, changed.tools]).toEqual([first.id, first.createdAt, ['a', 'b']]);
    expect((await t.call('GET', `/mcp/servers/${first.id}`, { as: admin })).body).toEqual(changed);
    expect(await mcp.getServer(first.id)).toEqual(changed);
    expect(await mcp.listServers()).toContainEqual(changed);
    await mcp.updateServer(first.id, { rateLimit: null });
    await mcp.removeServer(first.id);
    await expect(mcp.getServer(first.id)).rejects.toMatchObject({ code: 'MCP_SERVER_NOT_FOUND' });
  });

  it('throws the same errors as the endpoint', async () => {
    await expect(t.legate.mcp.registerServer({ name: 'a:b', endpoint: 'x' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      status: 400,
    });
  });
});

describe('a server of gateway.servers', () => {
  it('keeps its registration, name and endpoint, because no client could sign in without it', async () => {
    const servers = { notes: { url: 'http://127.0.0.1:9/mcp' } };
    const t = await createTestService({ config: { gateway: { servers } } });
    const admin = await t.admin();
    const [{ id, endpoint }] = (await t.call('GET', '/mcp/servers', { as: admin })).body;
    const change = (method: string, body?: object) => t.call(method, `/mcp/servers/${id}`, { as: admin, body });
    for (const refused of [
      await change('DELETE'),
      await change('PATCH', { name: 'other' }),
      await change('PATCH', { endpoint: 'https://mcp.example.com/mcp' }),
    ])
      expect([refused.status, refused.body.error?.code]).toEqual([409, 'MCP_SERVER_CONFIGURED']);
    expect((await change('PATCH', { rateLimit: { rpm: 60 } })).body).toMatchObject({
      endpoint,
      rateLimit: { rpm: 60 },
    });
    // After a change of the base URL, the gateway itself changes the endpoint.
    const config = { baseUrl: 'http://127.0.0.1:4000', gateway: { servers } };
    const moved = await createTestService({ sameDatabaseAs: t, config });
    const [{ endpoint: there }] = (await moved.call('GET', '/mcp/servers', { as: admin })).body;
    expect(there).toBe('http://127.0.0.1:4000/gateway/notes/mcp');
  });
});

describe('rateLimit.rpm', () => {
  const ask = (agent: TestAgent, name: string, tool = 'search') =>
    t.authorize(agent, { action: 'read', resource: `mcp:${name}:${tool}` });

  it('allows exactly rpm of 40 concurrent decisions by two agents on two tools, again in the next minute', async () => {
    const { name, id } = (await register(wanted({ rateLimit: { rpm: 7 } }))).body;
    const alice = await t.user();
    const permissions = [{ resource: `mcp:${name}:*`, actions: ['read'] }];
    const [one, two] = [await t.agent(alice, { permissions }), await t.agent(alice, { permissions })];
    t.clock.set('2030-01-15T12:00:20.000Z');
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ask(i % 2 ? one : two, name, i % 3 ? 'search' : 'other')),
    );
    expect(all.filter((r) => r.body.allowed)).toHaveLength(7);
    const refused = all.find((r) => !r.body.allowed)?.body;
    expect(refused).toEqual({
      allowed: false,
      auditId: expect.any(String),
      reason: 'RATE_LIMITED',
      retryAfter: 40,
      limit: 7,
      remaining: 0,
      resetAt: '2030-01-15T12:01:00.000Z',
    });
    expect((await t.call('GET', `/audit/${refused.auditId}`, { as: alice })).body).toMatchObject({
      result: 'rate_limited',
      reason: 'RATE_LIMITED',
    });
    const explained = await t.authorize(alice, {
      agentId: one.id,
      action: 'read',
      resource: `mcp:${name}:search`,
      explain: true,
      dryRun: true,
    });
    expect(explained.body.trace.refusedBy).toBe(id);
    const askedFor = async (at: string) =>
      (await t.authorize(one, { action: 'read', resource: `mcp:${name}:search`, dryRun: true, at })).body;
    expect(await askedFor('2030-01-15T12:00:59.999Z')).toMatchObject({ reason: 'RATE_LIMITED', retryAfter: 1 });
    expect(await askedFor('2030-01-15T12:01:00.000Z')).toEqual({ allowed: true });
    t.clock.set('2030-01-15T12:01:00.000Z');
    expect((await ask(one, name)).body.allowed).toBe(true);
  });

  it('counts only allowed decisions, and only those of this server', async () => {
    const { name } = (await register(wanted({ rateLimit: { rpm: 1 } }))).body;
    const agent = await t.agent(await t.user(), {
      permissions: [
        { resource: `mcp:${name}:search`, actions: ['read'] },
        { resource: `mcp:${name}x:*`, actions: ['read'] },
      ],
    });
    for (let i = 0; i < 3; i++) {
      expect((await ask(agent, name, 'forbidden')).body.reason).toBe('NO_PERMISSION');
      expect((await ask(agent, `${name}x`)).body.allowed).toBe(true);
    }
    expect([(await ask(agent, name)).body.allowed, (await ask(agent, name)).body.reason]).toEqual([
      true,
      'RATE_LIMITED',
    ]);
  });

  it('applies from the next decision on when it is lowered or removed, and to a renamed or new server', async () => {
    const server = (await register(wanted({ rateLimit: { rpm: 2 } }))).body;
    const { name } = server;
    const patch = (body: unknown) => t.call('PATCH', `/mcp/servers/${server.id}`, { as: admin, body });
    const agent = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:*', actions: ['read'] }] });
    const allowed = async (of = name) => (await ask(agent, of)).body.allowed;
    expect(await allowed()).toBe(true);
    await patch({ rateLimit: { rpm: 1 } });
    expect(await allowed()).toBe(false);
    await patch({ rateLimit: null });
    expect(await allowed()).toBe(true);
    await patch({ rateLimit: { rpm: 0 }, name: `${name}-renamed` });
    expect([await allowed(), await allowed(`${name}-renamed`)]).toEqual([true, false]);
    await t.call('DELETE', `/mcp/servers/${server.id}`, { as: admin });
    expect(await allowed(`${name}-renamed`)).toBe(true);
  });
});
