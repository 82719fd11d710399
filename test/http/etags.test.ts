import { describe, expect, it } from 'vitest';
import { asId } from '../../src/kernel/ids.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { inputSchema } from '../support/mutants.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { matrix } from './matrix.cases.ts';
import { AGENT_KEYS, budget, client, mcpServer, newIssuer, newScene, webhook } from './matrix.scene.ts';

const TRUSTED = 'https://console.example';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({
    lasting: true,
    config: { webhooks: { allowPrivateNetworks: true }, http: { trustedOrigins: [TRUSTED] } },
  }));

const etagOf = async (t: TestService, path: string, as: { token: string }): Promise<string> => {
  const r = await t.call('GET', path, { as });
  expect(r.status).toBe(200);
  return r.headers.get('etag') as string;
};
const ifMatch = (value: string) => ({ headers: { 'if-match': value } });

/** Requests below a resource that change something other than the resource itself. */
const OF_SOMETHING_ELSE = [
  'POST /agents/:id/permissions/filter',
  'POST /agents/:id/permissions/replay',
  'POST /agents/:id/trust',
  'DELETE /agents/:id/trust',
  'DELETE /agents/:id/trust/:trustId',
  'DELETE /users/:id/sessions',
  'DELETE /users/:id/sessions/:sid',
  'POST /webhooks/:id/recover',
  'POST /webhooks/:id/test',
];

describe('versions of resources', () => {
  it('are declared by each resource, and by each request that changes a resource', async () => {
    const t = await shared();
    const routes = distinctRoutes(t.legate.platform.config).map(({ route }) => route);
    const resources = routes.filter((r) => r.versioned && r.method === 'GET').map((r) => r.path);
    expect(resources.sort()).toEqual(
      [
        '/agents/:id',
        '/agents/:id/keys',
        '/budgets/:id',
        '/issuers/:id',
        '/mcp/servers/:id',
        '/oauth/clients/:id',
        '/tenants/:id',
        '/users/:id',
        '/webhooks/:id',
      ].sort(),
    );
    const changing = routes
      .filter((r) => r.method !== 'GET' && resources.some((path) => r.path === path || r.path.startsWith(`${path}/`)))
      .filter((r) => !r.versioned)
      .map((r) => `${r.method} ${r.path}`);
    expect(changing.filter((name) => !OF_SOMETHING_ELSE.includes(name))).toEqual([]);
    const document = (await t.call('GET', '/openapi.json')).body;
    expect(document.paths['/agents/{id}'].get.responses['200'].headers).toHaveProperty('ETag');
    expect(document.paths['/agents/{id}'].patch.parameters.map((p: { name: string }) => p.name)).toContain('If-Match');
    expect(document.paths['/agents/{id}'].patch.responses).toHaveProperty('412');
    const [create, set] = [document.paths['/agents'].post, document.paths['/agents/{id}/keys'].put];
    expect(create.responses['201'].headers).toHaveProperty('ETag');
    expect(create.parameters.map((p: { name: string }) => p.name)).not.toContain('If-Match');
    expect(create.responses).not.toHaveProperty('412');
    expect(set.parameters.map((p: { name: string }) => p.name)).toEqual(
      expect.arrayContaining(['If-Match', 'If-None-Match']),
    );
  });

  const versioned = Object.keys(matrix).filter(
    (name) =>
      !name.startsWith('GET ') &&
      /^\w+ \/(agents|budgets|issuers|mcp\/servers|oauth\/clients|tenants|users|webhooks)\/:id(\/rotate|\/second-factor)?$/.test(
        name,
      ),
  );
  it.each(versioned)('%s changes only the version that it names', async (name) => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const [method, template] = name.split(' ') as [string, string];
    const row = matrix[name];
    const { path, body } = (await row?.target(s)) ?? { path: '' };
    const resource = path
      .split('/')
      .slice(0, template.split('/').indexOf(':id') + 1)
      .join('/');
    const send = (as: { token: string }, tag: string) =>
      t.call(method, path, { as, ...(body === undefined ? {} : { body }), ...ifMatch(tag) });
    const before = await etagOf(t, resource, admin);
    expect(before).toMatch(/^"[\w-]{27}"$/);
    const refused = await send(admin, '"another"');
    expect([refused.status, refused.body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect(await etagOf(t, resource, admin)).toBe(before);
    // A caller who may not change the resource does not learn its version.
    expect((await send(await t.user(), '"another"')).status).toBe(row?.want.anotherUser ?? 403);
    expect((await send(await t.user({ role: 'auditor' }), before)).status).toBe(403);
    const done = await send(admin, before);
    expect(done.status).toBe(row?.want.admin);
    const after = await t.call('GET', resource, { as: admin });
    if (done.status === 200) expect(done.headers.get('etag')).toBe(after.headers.get('etag'));
    // Switching off a second factor that was not set up changes nothing.
    if (!name.endsWith('second-factor'))
      expect((await send(admin, before)).status).toBe(after.status === 404 ? 404 : 412);
  });

  it.each(versioned.filter((name) => name.startsWith('PATCH ')))(
    '%s with no field, or with the same values, changes nothing',
    async (name) => {
      const t = await shared();
      const admin = await t.admin();
      const { path } = (await matrix[name]?.target(await newScene(t))) ?? { path: '' };
      const mounted = distinctRoutes(t.legate.platform.config).find((m) => `${m.route.method} ${m.path}` === name);
      const fields = Object.keys(inputSchema(mounted?.route.body as never).properties ?? {});
      const before = await t.call('GET', path, { as: admin });
      const same = Object.fromEntries(fields.filter((f) => f in before.body).map((f) => [f, before.body[f]]));
      expect(Object.keys(same).length).toBeGreaterThan(0);
      const known = (await t.call('GET', '/changes', { as: admin })).body[0].id;
      t.clock.advance(1000);
      for (const body of [{}, same, { ...same, reason: 'none' }]) {
        expect((await t.call('PATCH', path, { as: await t.user(), body })).status).not.toBe(200);
        const r = await t.call('PATCH', path, { as: admin, body });
        expect([r.status, r.body]).toEqual([200, before.body]);
        expect(r.headers.get('etag')).toBe(before.headers.get('etag'));
      }
      expect((await t.call('GET', '/changes', { as: admin })).body[0].id).toBe(known);
    },
  );

  it.each([
    ['agents', async (s: Awaited<ReturnType<typeof newScene>>) => s.agent.id, (i: number) => ({ name: `name ${i}` })],
    ['webhooks', webhook, (i: number) => ({ url: `http://127.0.0.1:9/${i}` })],
    ['budgets', budget, (i: number) => ({ limit: i + 1 })],
    ['users', async (s: Awaited<ReturnType<typeof newScene>>) => s.owner.id, (i: number) => ({ name: `name ${i}` })],
    ['mcp/servers', undefined, (i: number) => ({ tools: [`tool ${i}`] })],
  ] as const)('exactly one of 50 parallel changes of one version of %s succeeds', async (kind, id, body) => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const made = id ? await id(s) : (await t.legate.mcp.registerServer(mcpServer() as never)).id;
    const path = `/${kind}/${made}`;
    const tag = await etagOf(t, path, admin);
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) => t.call('PATCH', path, { as: admin, body: body(i), ...ifMatch(tag) })),
    );
    const won = all.filter((r) => r.status === 200);
    expect([won.length, all.filter((r) => r.status === 412).length]).toEqual([1, 49]);
    expect(await etagOf(t, path, admin)).toBe(won[0]?.headers.get('etag'));
  });

  it('exactly one of 50 parallel rotations of one version succeeds', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const tag = await etagOf(t, `/agents/${agent.id}`, owner);
    const all = await Promise.all(
      Array.from({ length: 50 }, () => t.call('POST', `/agents/${agent.id}/rotate`, { as: owner, ...ifMatch(tag) })),
    );
    expect(all.filter((r) => r.status === 200)).toHaveLength(1);
    expect(all.filter((r) => r.status === 412)).toHaveLength(49);
  });

  it('follow RFC 9110, section 13.1.1: *, lists, weak tags, and invalid values', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const path = `/agents/${agent.id}`;
    let count = 0;
    const patch = async (header: string): Promise<number> =>
      (await t.call('PATCH', path, { as: owner, body: { name: `n${++count}` }, ...ifMatch(header) })).status;
    const tag = (): Promise<string> => etagOf(t, path, owner);
    expect(await patch('*')).toBe(200);
    expect(await patch(`"a,b" , ${await tag()},, "c"`)).toBe(200);
    expect(await patch(`"x", "y"`)).toBe(412);
    expect(await patch(`W/${await tag()}`)).toBe(412);
    expect(await patch('""')).toBe(412);
    expect(await patch((await tag()).replaceAll('"', ''))).toBe(400);
    for (const malformed of ['', ' , ', '"a', 'a"', '"a" "b"', 'w/"a"', '*, "a"', '"a"x', `"${'a'.repeat(5000)}`])
      expect([malformed, await patch(malformed)]).toEqual([malformed, 400]);
    const missing = await t.call('PATCH', `/agents/agt_${'0'.repeat(26)}`, { as: owner, body: {}, ...ifMatch('*') });
    expect(missing.status).toBe(404);
  });

  it('are in the response that creates a resource, and are valid for its next change', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const admin = await t.admin();
    const made = Date.now();
    for (const [path, as, body, change] of [
      ['/agents', owner, { ownerId: owner.id, name: 'a', type: 'service', metadata: { a: 1 } }, { name: 'b' }],
      ['/webhooks', owner, { url: 'http://127.0.0.1:9/', types: ['audit'] }, { types: null }],
      ['/budgets', owner, { agentId: agent.id, metric: 'cost', limit: 1.5, window: 'day' }, { limit: 2 }],
      ['/mcp/servers', admin, mcpServer(), { tools: [] }],
      ['/tenants', admin, { name: 'Tenant', slug: `t-${made}` }, { name: 'Other' }],
      ['/issuers', admin, newIssuer(), { name: `other-${made}` }],
    ] as const) {
      const created = await t.call('POST', path, { as, body });
      expect(created.status, `${path} ${created.text}`).toBe(201);
      const tag = created.headers.get('etag') as string;
      expect(tag, path).toBe(await etagOf(t, `${path}/${created.body.id}`, as));
      const patch = () => t.call('PATCH', `${path}/${created.body.id}`, { as, body: change, ...ifMatch(tag) });
      expect([(await patch()).status, (await patch()).status], path).toEqual([200, 412]);
    }
    // The response to a repeated request has the same version.
    const headers = { 'idempotency-key': `key-${made}` };
    const once = { as: owner, headers, body: { agentId: agent.id, metric: 'calls', limit: 1, window: 'day' } };
    const [first, again] = [await t.call('POST', '/budgets', once), await t.call('POST', '/budgets', once)];
    expect([again.headers.get('idempotent-replayed'), again.headers.get('etag')]).toEqual([
      'true',
      first.headers.get('etag'),
    ]);
  });

  it('of keys: exactly one of several parallel replacements of one version, or of no keys, succeeds', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const path = `/agents/${agent.id}/keys`;
    let sets = 0;
    const parallel = async (headers: Record<string, string>): Promise<Record<number, number>> => {
      const sent = Array.from({ length: 20 }, () =>
        t.call('PUT', path, { as: owner, headers, body: { jwksUri: `https://keys.example/${++sets}` } }),
      );
      const found: Record<number, number> = {};
      for (const { status } of await Promise.all(sent)) found[status] = (found[status] ?? 0) + 1;
      return found;
    };
    // An agent without keys has no version.
    for (const tag of ['*', '"another"'])
      expect((await t.call('PUT', path, { as: owner, body: AGENT_KEYS, ...ifMatch(tag) })).status).toBe(412);
    expect((await t.call('DELETE', path, { as: owner, ...ifMatch('*') })).status).toBe(404);
    expect(await parallel({ 'if-none-match': '*' })).toEqual({ 200: 1, 412: 19 });
    const tag = await etagOf(t, path, owner);
    expect(await parallel({ 'if-match': tag })).toEqual({ 200: 1, 412: 19 });
    expect(await parallel({ 'if-none-match': ' * ' })).toEqual({ 412: 20 });
    const { body } = await t.call('GET', path, { as: owner });
    const set = (headers: Record<string, string>, as: { token: string } = owner) =>
      t.call('PUT', path, { as, headers, body: { jwksUri: body.jwksUri } });
    // The same applies to a replacement that changes nothing.
    expect((await set({ 'if-match': tag })).status).toBe(412);
    const current = await etagOf(t, path, owner);
    expect((await set({ 'if-match': current })).headers.get('etag')).toBe(current);
    expect((await set({ 'if-match': '*' })).status).toBe(200);
    for (const malformed of ['', '"a"', current, '*, *']) {
      const r = await set({ 'if-none-match': malformed });
      expect([r.status, r.body.error?.details.issues[0].path]).toEqual([400, 'If-None-Match']);
    }
    // A caller who may not change the keys does not learn whether the agent has any.
    const stranger = await t.user();
    expect((await set({ 'if-none-match': '*' }, stranger)).status).toBe(404);
    expect((await set({ 'if-none-match': '*' }, await t.user({ role: 'auditor' }))).status).toBe(403);
    expect((await t.call('DELETE', path, { as: owner, ...ifMatch(tag) })).status).toBe(412);
    expect((await t.call('DELETE', path, { as: owner, ...ifMatch(current) })).status).toBe(204);
    expect((await set({ 'if-none-match': '*' })).status).toBe(200);
  });

  it('stay the same while the resource is only used', async () => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const db = t.legate.platform.database.write;
    const [budgetId, clientId, webhookId] = [await budget(s), await client(s), await webhook(s)];
    const paths = [
      `/agents/${s.agent.id}`,
      `/budgets/${budgetId}`,
      `/oauth/clients/${clientId}`,
      `/webhooks/${webhookId}`,
    ];
    const tags = () => Promise.all(paths.map((path) => etagOf(t, path, admin)));
    const before = await tags();
    await t.authorize(s.agent, { action: 'read', resource: 'db:x' });
    await db.updateTable('oauth_clients').set({ last_used_at: 5 }).where('id', '=', asId('client', clientId)).execute();
    await db
      .updateTable('webhooks')
      .set({ failures: 3, paused_until: 5 })
      .where('id', '=', asId('webhook', webhookId))
      .execute();
    expect((await t.call('GET', `/budgets/${budgetId}`, { as: admin })).body.used).toBe(1);
    expect(await tags()).toEqual(before);
  });

  it('differ after each change within one millisecond', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const path = `/agents/${agent.id}`;
    const first = await etagOf(t, path, owner);
    await t.call('POST', `${path}/rotate`, { as: owner });
    const rotated = await etagOf(t, path, owner);
    expect(rotated).not.toBe(first);
    expect((await t.call('DELETE', path, { as: owner, ...ifMatch(first) })).status).toBe(412);
    expect((await t.call('DELETE', path, { as: owner, ...ifMatch(rotated) })).status).toBe(204);
    expect(await etagOf(t, path, owner)).not.toBe(rotated);
  });

  it('are readable for pages of a trusted origin, which may send them', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const path = `/agents/${agent.id}`;
    const read = await t.call('GET', path, { as: owner, headers: { origin: TRUSTED } });
    expect(read.headers.get('access-control-expose-headers')).toContain('ETag');
    const asked = await t.call('OPTIONS', path, {
      headers: {
        origin: TRUSTED,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'if-match',
      },
    });
    expect(asked.headers.get('access-control-allow-headers')).toContain('If-Match');
  });
});
