import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import type {
  Agent,
  AgentWithToken,
  AuditEntry,
  Delegation,
  EffectivePermission,
  LegateInput,
  StreamEvent,
  TokenValidation,
  User,
} from 'legate';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { findAssets } from '../../src/console/assets.ts';
import { nodeListener } from '../../src/http/node.ts';
import { createLegate, type Legate } from '../../src/service.ts';
import { createTestService, type Json, newTestDatabase } from '../support/service.ts';

/** Closes what a test opened, in reverse order. */
const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  vi.unstubAllEnvs();
  vi.resetModules();
});

interface Prepared {
  readonly agentId: string;
  readonly token: string;
}

/** An agent in an empty database, and the environment with which an example uses it. */
async function prepare(): Promise<Prepared> {
  const { dir, url, name } = await newTestDatabase();
  const legate = await createLegate({
    dataDir: dir,
    databaseUrl: url,
    service: { name },
    users: { allowExternalOwners: true },
  });
  const agent = await legate.agents.create({
    ownerId: 'someone',
    name: 'agent',
    type: 'service',
    permissions: [{ resource: 'mcp:github:*', actions: ['read'] }],
  });
  await legate.close();
  vi.stubEnv('LEGATE_DATA_DIR', dir);
  vi.stubEnv('LEGATE_DATABASE_URL', url);
  vi.stubEnv('LEGATE_SERVICE_NAME', name);
  // It contains the name of the service otherwise.
  vi.stubEnv('LEGATE_HTTP_BASE_PATH', '/api/legate');
  return { agentId: agent.id, token: agent.token };
}

async function listening(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => new Promise((resolve) => server.close(resolve)));
  opened.push(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the types of the package', () => {
  it('contain names for the arguments and results of the functions', async () => {
    const { dir, url, name } = await newTestDatabase();
    const input: LegateInput = { dataDir: dir, databaseUrl: url, service: { name } };
    const legate = await createLegate(input);
    opened.push(() => legate.close());
    const user: User = await legate.users.create({ email: 'ada@example.com', password: 'correct horse battery' });
    const make = (): Promise<AgentWithToken> =>
      legate.agents.create({
        ownerId: user.id,
        name: 'agent',
        type: 'service',
        permissions: [{ resource: 'a:*', actions: ['read'] }],
      });
    const [giver, taker]: Agent[] = [await make(), await make()];
    const ids = { fromAgent: giver?.id ?? '', toAgent: taker?.id ?? '' };
    const given: Delegation = await legate.delegations.create({
      ...ids,
      permissions: [{ resource: 'a:b', actions: ['read'] }],
    });
    const held: EffectivePermission[] = await legate.agents.permissions(given.toAgent);
    await legate.check({ agentId: given.toAgent, action: 'read', resource: 'a:b' });
    const entries: AuditEntry[] = (await legate.audit.query()).entries;
    const events: StreamEvent[] = await legate.events.replay(new Date(0), ['audit']);
    const token: TokenValidation = await legate.mcp.validateToken('none');
    expect([held.length, entries.length, events.length, token.valid]).toEqual([2, 1, 1, false]);
  });
});

type Ask = (path: string, init?: RequestInit) => Promise<Response>;
const json = { 'content-type': 'application/json' };

/** Checks Legate mounted under /legate, with its pages and its authorization server, in any framework. */
async function expectMounted(ask: Ask, { agentId, token }: Prepared): Promise<void> {
  const bearer = { authorization: `Bearer ${token}` };
  const question = JSON.stringify({ action: 'read', resource: 'mcp:github:list_issues' });
  const allowed = await ask('/legate/authorize', { method: 'POST', headers: { ...json, ...bearer }, body: question });
  expect(allowed.status).toBe(200);
  expect(await allowed.json()).toEqual({ allowed: true, auditId: expect.stringMatching(/^aud_/) });
  const batch = await ask('/legate/authorize/batch', {
    method: 'POST',
    headers: { ...json, ...bearer },
    body: `{"requests":[${question}]}`,
  });
  expect(await batch.json()).toEqual({ results: [{ allowed: true, auditId: expect.stringMatching(/^aud_/) }] });
  const agent = await ask(`/legate/agents/${agentId}`, { headers: bearer });
  expect(await agent.json()).toMatchObject({ id: agentId, status: 'active' });
  expect((await ask(`/legate/agents/${agentId}`)).status).toBe(401);
  expect((await ask('/legate/authorize', { method: 'POST', headers: { ...json, ...bearer }, body: '{' })).status).toBe(
    400,
  );
  expect((await ask('/legate/authorize', { headers: bearer })).status).toBe(405);
  expect((await ask('/legate/nothing', { headers: bearer })).status).toBe(404);
  const page = await ask('/legate/account/sign-in');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const metadata = (await (await ask('/.well-known/oauth-authorization-server')).json()) as Json;
  const { pathname } = new URL(metadata.token_endpoint);
  const form = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=x',
  };
  const refused = await ask(pathname, form);
  expect([refused.status, ((await refused.json()) as Json).error]).toEqual([400, 'unsupported_grant_type']);
  expect((await ask(pathname, { method: 'OPTIONS', headers: { origin: 'https://app.example.com' } })).status).toBe(204);
}

describe('createLegate and the environment', () => {
  const signUp = async (legate: Legate) =>
    (
      await legate.fetch(
        new Request('http://localhost:3000/sign-up', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
        }),
        { remoteAddress: '192.0.2.1' },
      )
    ).status;
  const place = async () => {
    const { dir, url, name } = await newTestDatabase();
    return { dataDir: dir, databaseUrl: url, service: { name } };
  };
  const created = async (...args: Parameters<typeof createLegate>) => {
    const legate = await createLegate(...args);
    opened.push(() => legate.close());
    return legate;
  };

  it('reads LEGATE_* as the program does', async () => {
    vi.stubEnv('LEGATE_USERS_SIGN_UP', 'closed');
    expect(await signUp(await created(await place()))).toBe(403);
  });

  it('reads no variable when env is {}', async () => {
    vi.stubEnv('LEGATE_USERS_SIGN_UP', 'closed');
    vi.stubEnv('NODE_ENV', 'production');
    expect(await signUp(await created({ ...(await place()), env: {} }))).toBe(200);
  });

  it('refuses an unknown variable', async () => {
    vi.stubEnv('LEGATE_USERS_SIGNUP', 'closed');
    await expect(created(await place())).rejects.toThrow('LEGATE_USERS_SIGNUP is not a known option');
  });

  it('is in production if NODE_ENV is production: unsafe settings prevent the start, others only warn', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    await expect(created(await place())).rejects.toThrow('LEGATE_BASE_URL is not set');
    const secret = randomBytes(32).toString('base64url');
    await expect(created({ ...(await place()), secret, baseUrl: 'http://auth.example.com' })).rejects.toThrow(
      'not https',
    );
    const warned: string[] = [];
    const log = {
      debug: () => {},
      info: () => {},
      warn: (_: object, text: string) => warned.push(text),
      error: () => {},
    };
    const legate = await created({ ...(await place()), secret, baseUrl: 'https://auth.example.com' }, { log });
    expect(await signUp(legate)).toBe(403);
    expect(warned.join()).toContain('LEGATE_MAIL_URL');
  });

  it('prints mail in development if no server is configured', async () => {
    const info = vi.spyOn(console, 'info').mockImplementation(() => {});
    opened.push(() => info.mockRestore());
    const legate = await created({ ...(await place()), users: { requireEmailVerification: true } });
    expect(await signUp(legate)).toBe(200);
    await legate.platform.background.idle();
    expect(JSON.stringify(info.mock.calls)).toContain('ada@example.com');
  });
});

describe('examples/hono', () => {
  it('serves Legate under /legate and the application elsewhere', async () => {
    const prepared = await prepare();
    const { app, legate } = await import('../../examples/hono/app.ts');
    opened.push(() => legate.close());
    const ask: Ask = async (path, init) => app.fetch(new Request(`http://localhost${path}`, init));
    await expectMounted(ask, prepared);
    expect(await (await ask('/')).text()).toBe('the application itself');
    expect((await ask('/authorize', { method: 'POST' })).status).toBe(404);
  });
});

describe('examples/express', () => {
  it('serves Legate under /legate and the application elsewhere', async () => {
    const prepared = await prepare();
    const { app, legate } = await import('../../examples/express/app.ts');
    opened.push(() => legate.close());
    const base = await listening(app);
    const ask: Ask = (path, init) => fetch(base + path, init);
    await expectMounted(ask, prepared);
    expect(await (await ask('/')).text()).toBe('the application itself');
    expect((await ask('/authorize', { method: 'POST' })).status).toBe(404);
  });
});

describe('examples/next', () => {
  type Handlers = Readonly<Record<string, (request: Request) => Promise<Response>>>;
  /** Imports a module of the example, which npm run typecheck leaves to Next.js. */
  const load = (file: string): Promise<Handlers & { legate: () => Promise<Legate> }> =>
    import(/* @vite-ignore */ join(import.meta.dirname, '../../examples/next', file));
  const routes = ['legate', 'api/legate', '.well-known'];

  /** Sends a request to the route in whose folder its path is, as Next.js does. */
  const ask: Ask = async (path, init) => {
    const folder = routes.find((route) => path.startsWith(`/${route}/`));
    const handlers = await load(`app/${folder}/[...path]/route.ts`);
    const handler = handlers[init?.method ?? 'GET'] as Handlers[string];
    return handler(new Request(`http://localhost${path}`, init));
  };
  const closing = () =>
    opened.push(async () => {
      await (await load('legate.ts')).legate().then((legate) => legate.close());
      Reflect.deleteProperty(globalThis, 'legate');
    });

  it('serves Legate as route handlers of /legate, /api/legate and /.well-known', async () => {
    const prepared = await prepare();
    closing();
    await expectMounted(ask, prepared);
  });

  it('creates one service, at the first request, and tries again after a start that failed', async () => {
    await prepare();
    const { legate } = await load('legate.ts');
    vi.stubEnv('LEGATE_USERS_SIGN_UP', 'perhaps');
    await expect(ask('/legate/health/live')).rejects.toThrow('LEGATE_USERS_SIGN_UP');
    vi.stubEnv('LEGATE_USERS_SIGN_UP', 'open');
    closing();
    expect((await ask('/legate/health/live')).status).toBe(200);
    vi.resetModules();
    expect(await (await load('legate.ts')).legate()).toBe(await legate());
  });

  it('does not compress, because Next.js drops the header that says so', async () => {
    await prepare();
    closing();
    const answer = await ask(`/legate/console/${findAssets()?.entry.script}`, {
      headers: { 'accept-encoding': 'gzip, br' },
    });
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, null]);
  });
});

describe('nodeListener', () => {
  const question = (token: string): RequestInit => ({
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${token}` },
    body: '{"action":"read","resource":"a:b"}',
  });
  const agentOf = (t: { legate: Awaited<ReturnType<typeof createLegate>> }) =>
    t.legate.agents.create({ ownerId: 'someone', name: 'agent', type: 'service' });

  it('records the address of the connection, on the fast path and on the usual one', async () => {
    const t = await createTestService({ config: { users: { allowExternalOwners: true } } });
    const { token } = await agentOf(t);
    const base = await listening(nodeListener(t.legate));
    for (const path of ['/authorize', '/authorize?'])
      expect((await fetch(base + path, question(token))).status).toBe(200);
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('ip')
      .where('type', '=', 'audit')
      .execute();
    expect(rows).toEqual([{ ip: '127.0.0.1' }, { ip: '127.0.0.1' }]);
  });

  it('answers 500 immediately, and logs the reason, when a body parser has read the body before', async () => {
    const said: unknown[] = [];
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: (fields: object) => void said.push(fields) };
    const t = await createTestService({ config: { users: { allowExternalOwners: true } }, log });
    const { token } = await agentOf(t);
    const app = express();
    app.use(express.json());
    app.all('/*path', nodeListener(t.legate));
    const base = await listening(app);
    for (const path of ['/authorize', '/authorize/batch']) {
      const response = await fetch(base + path, question(token));
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({ error: { code: 'INTERNAL_ERROR' } });
    }
    expect(said).toHaveLength(2);
    expect(String((said[0] as { err: Error }).err)).toContain('before any body parser');
    expect((await fetch(`${base}/agents`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  });

  it('answers 500 and logs the reason when the body of a Request was read before', async () => {
    const said: unknown[] = [];
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: (fields: object) => void said.push(fields) };
    const t = await createTestService({ config: { users: { allowExternalOwners: true } }, log });
    const { token } = await agentOf(t);
    for (const headers of [{}, { 'content-length': '40' }]) {
      const asked = question(token);
      const request = new Request('http://localhost:3000/authorize', {
        ...asked,
        headers: { ...asked.headers, ...headers },
      });
      await request.text();
      const response = await t.legate.fetch(request, { remoteAddress: '192.0.2.1' });
      expect([response.status, (await response.json()).error.code]).toEqual([500, 'INTERNAL_ERROR']);
    }
    expect(said.map((fields) => (fields as { err: Error }).err.message)).toEqual([
      'The body was read by somebody else: call fetch before anything reads the body.',
      'The body was read by somebody else: call fetch before anything reads the body.',
    ]);
  });
});
