import { beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { register, signUp, tokens } from '../support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../support/service.ts';
import { matrix } from './matrix.cases.ts';
import { newScene, session } from './matrix.scene.ts';

/** Tables that are derived from the ledger in the background. */
const DERIVED: readonly string[] = [
  'changes',
  'change_subjects',
  'event_segments',
  'event_columns',
  'agent_hours',
  'projections',
  'anomalies',
  'anomaly_states',
];

const all = distinctRoutes(readConfig({}).values);
const endpoints = all.filter(({ route }) => route.preview).map(({ route, path }) => `${route.method} ${path}`);

let t: TestService;
let admin: TestUser;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
});

/** Returns all rows, without the last use of API tokens, which may be recorded at any time. */
async function dump(): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const name of TABLE_NAMES.filter((name) => name !== 'instances' && name !== 'leases' && !DERIVED.includes(name)))
    rows[name] = (await t.legate.platform.database.read.selectFrom(name).selectAll().execute())
      .map((row) => JSON.stringify({ ...row, ...(name === 'api_tokens' ? { last_used_at: null } : {}) }))
      .sort();
  return rows;
}

const eventsOf = async (): Promise<Json[]> => (await t.call('GET', '/events?limit=1000', { as: admin })).body;

/** An event without ids and times, which a preview cannot predict. */
const comparable = (event: Json): Json =>
  JSON.parse(
    JSON.stringify({ ...event, id: undefined, timestamp: undefined }, (name, value) =>
      name === 'updatedAt' ? undefined : value,
    ),
  );

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly as: TestUser;
}

/** Sends a request as a preview and in earnest. Returns the events that it emitted and that its sender may see. */
async function compare({ method, path, body, as }: Request): Promise<Json[]> {
  const [before, known] = [await dump(), (await eventsOf()).length];
  const send = (address: string) => t.call(method, address, { as, ...(body === undefined ? {} : { body }) });
  const shown = await send(`${path}?preview=true`);
  expect([shown.status, shown.body.preview]).toEqual([200, true]);
  expect(await dump()).toEqual(before);
  const done = await send(path);
  expect(done.status).toBeLessThan(300);
  const all = await eventsOf();
  const emitted = all
    .slice(0, all.length - known)
    .reverse()
    .filter((event) => as === admin || event['userId'] === as.id);
  expect(shown.body.events.map(comparable)).toEqual(emitted.map(comparable));
  expect(shown.body.grants).toBe(emitted.filter(({ type }) => type === 'grant.revoked').length);
  return emitted;
}

describe('every endpoint with a preview', () => {
  it('revokes, ends, deletes or narrows something', () => {
    expect(endpoints.length).toBe(16);
    expect(endpoints.filter((endpoint) => !/^(DELETE|PATCH) |\/(erasures|revoke)$/.test(endpoint))).toEqual([]);
  });

  it.each(endpoints)('%s: changes nothing, and shows the events of the change', async (endpoint) => {
    const row = matrix[endpoint];
    if (!row) throw new Error(`${endpoint} has no row in the matrix`);
    const scene = await newScene(t);
    if (endpoint.endsWith('/sessions')) await session(scene);
    const { path, body } = await row.target(scene);
    const as = (row.want.owner ?? 403) < 300 ? scene.owner : admin;
    const [method] = endpoint.split(' ') as [string];
    const emitted = await compare({ method, path, body, as });
    expect(emitted.length).toBeGreaterThan(0);
  });

  it.each([
    ['DELETE', undefined],
    ['PATCH', { endpoint: 'https://mcp.example/moved' }],
  ])('%s /mcp/servers/:id: shows the grants that would end', async (method, body) => {
    const server = { name: `of ${method}`, endpoint: `https://mcp.example/${method}` };
    const { id } = (await t.call('POST', '/mcp/servers', { as: admin, body: server })).body;
    await tokens(t, await signUp(t), await register(t), { resource: server.endpoint });
    const emitted = await compare({ method, path: `/mcp/servers/${id}`, body, as: admin });
    expect(emitted.map(({ type }) => type)).toEqual([
      method === 'DELETE' ? 'mcp.deleted' : 'mcp.updated',
      'grant.revoked',
      'agent.revoked',
    ]);
  });

  it.each(endpoints)('%s: refuses an unknown parameter', async (endpoint) => {
    const row = matrix[endpoint];
    if (!row) throw new Error(`${endpoint} has no row in the matrix`);
    const scene = await newScene(t);
    const { path, body } = await row.target(scene);
    const before = await dump();
    const [method] = endpoint.split(' ') as [string];
    const unknown = ['Preview=true', 'previw=true', 'preview=true&unknown=1', 'unknown=1&preview=false', '__proto__=1'];
    for (const query of method === 'DELETE' ? unknown : [...unknown, 'reason=because']) {
      const named = query.split('&').find((part) => !part.startsWith('preview=')) as string;
      const address = `${path}${path.includes('?') ? '&' : '?'}${query}`;
      const r = await t.call(method, address, { as: admin, ...(body === undefined ? {} : { body }) });
      expect(r.status, query).toBe(400);
      expect(r.body.error.details.issues, query).toEqual([
        { path: named.split('=')[0], message: 'is not a known field' },
      ]);
    }
    expect(await dump()).toEqual(before);
  });
});

/** Endpoints of the service's own API that read something without any input. */
const withoutInput = all.filter(
  ({ route, path }) =>
    route.method === 'GET' && !route.query && !route.page && !route.errorBody && !path.includes(':') && !route.preview,
);

it.each(withoutInput.map(({ path }) => path))('GET %s has no preview, and is described so', async (path) => {
  const r = await t.call('GET', `${path}?preview=true`, { as: admin });
  expect([r.status, r.body.error.code, r.body.error.details.issues[0].path]).toEqual([
    400,
    'VALIDATION_FAILED',
    'preview',
  ]);
});

it('an endpoint that accepts no parameter ignores unknown ones, but not a preview', async () => {
  const [owner, other] = [await t.user(), await t.user()];
  const { id } = (
    await t.call('POST', '/budgets', {
      as: owner,
      body: { agentId: (await t.agent(owner)).id, metric: 'calls', limit: 1, window: 'day' },
    })
  ).body;
  const patch = (query: string, as: TestUser, limit: number) =>
    t.call('PATCH', `/budgets/${id}?${query}`, { as, body: { limit } });
  expect([(await patch('unknown=1', owner, 2)).status, (await patch('unknown=1', other, 3)).status]).toEqual([
    200, 404,
  ]);
  expect((await patch('preview=true', owner, 4)).body.error.details.issues[0].path).toBe('preview');
  expect((await t.call('GET', `/budgets/${id}`, { as: owner })).body.limit).toBe(2);
});
