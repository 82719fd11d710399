import { describe, expect, it, vi } from 'vitest';
import { createTestService, FakeClock, type TestService } from '../../test/support/service.ts';
import { SYSTEM } from '../access/actor.ts';
import { mountRoutes } from '../http/app.ts';
import { describedRoutes } from '../http/openapi.ts';
import { modules } from '../modules.ts';
import { EXAMPLES } from './index.ts';

const metric = (text: string, line: string): number =>
  Number(
    text
      .split('\n')
      .find((l) => l.startsWith(`${line} `))
      ?.slice(line.length + 1),
  );

const OK = { instance: 'ok', database: 'ok', schema: 'ok', ledger: 'ok', clock: 'ok' };

/** What a part of the document says, with its references followed. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is looked into, field by field.
type Document = any;

describe('GET /health/live', () => {
  it('200 for anyone', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/health/live');
    expect([r.status, r.body]).toEqual([200, { status: 'ok' }]);
    expect(r.headers.get('cache-control')).toBe('no-store');
  });

  it('200 while the database is gone', async () => {
    const t = await createTestService();
    await t.legate.platform.database.close();
    expect((await t.call('GET', '/health/live')).status).toBe(200);
  });

  it('405 with Allow', async () => {
    const t = await createTestService();
    const r = await t.call('POST', '/health/live', { body: {} });
    expect([r.status, r.body.error.code, r.headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'GET, HEAD']);
  });
});

describe('GET /health/ready', () => {
  it('200 for anyone', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/health/ready');
    expect([r.status, r.body]).toEqual([200, { status: 'ready', checks: OK }]);
  });

  it('HEAD answers without a body', async () => {
    const t = await createTestService();
    const r = await t.call('HEAD', '/health/ready');
    expect([r.status, r.text]).toEqual([200, '']);
  });

  it('503 while the database cannot be reached', async () => {
    const t = await createTestService();
    expect((await t.call('GET', '/health/ready')).status).toBe(200);
    await t.legate.platform.database.close();
    const r = await t.call('GET', '/health/ready');
    const unknown = { schema: 'unknown', ledger: 'unknown', clock: 'unknown' };
    expect([r.status, r.body]).toEqual([
      503,
      { status: 'unavailable', checks: { instance: 'ok', database: 'unreachable', ...unknown } },
    ]);
    expect(r.headers.get('retry-after')).toBe('1');
  });

  it('503 while the schema is behind', async () => {
    const t = await createTestService();
    const { database } = t.legate.platform;
    const behind = [503, { status: 'unavailable', checks: { ...OK, schema: 'behind' } }];
    await database.write.deleteFrom(`${database.prefix}migrations` as never).execute();
    const empty = await t.call('GET', '/health/ready');
    expect([empty.status, empty.body]).toEqual(behind);
    await database.write.schema.dropTable(`${database.prefix}migrations`).execute();
    const missing = await t.call('GET', '/health/ready');
    expect([missing.status, missing.body]).toEqual(behind);
  });
});

describe('GET /health/ready, while nothing can be recorded', () => {
  it.each(['the same', 'another'])('503 while %s instance holds the head row, and 200 after it', async (which) => {
    const t = await createTestService();
    const holder = which === 'another' ? await createTestService({ sameDatabaseAs: t }) : t;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let locked = (): void => {};
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    const change = holder.legate.platform.ledger.change(SYSTEM, async () => {
      locked();
      await held;
    });
    await isLocked;
    const r = await t.call('GET', '/health/ready');
    release();
    await change;
    expect([r.status, r.body]).toEqual([503, { status: 'unavailable', checks: { ...OK, ledger: 'blocked' } }]);
    await vi.waitFor(async () => expect((await t.call('GET', '/health/ready')).status).toBe(200));
  });

  it('503 while the clock is more than 30 s off that of the database', async () => {
    const database = new FakeClock();
    const t = await createTestService({ databaseClock: database });
    const admin = await t.admin();
    database.advance(60_000);
    const r = await t.call('GET', '/health/ready');
    expect([r.status, r.body.checks]).toEqual([503, { ...OK, ledger: 'blocked', clock: 'off' }]);
    const { text } = await t.call('GET', '/metrics', { as: admin });
    expect(metric(text, 'legate_clock_offset_seconds')).toBe(-60);
  });
});

describe('GET /metrics', () => {
  const TOKEN = 'a metrics token of some length';

  it('200 in the text format for an admin, with all metrics', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'mcp:a:*', actions: ['read'] }] });
    await t.authorize(agent, { action: 'read', resource: 'mcp:a:x' });
    await t.authorize(agent, { action: 'read', resource: 'mcp:a:y' });
    await t.authorize(agent, { action: 'write', resource: 'mcp:a:x' });
    await t.call('GET', '/agents/agt_unknown', { as: alice });
    await t.call('GET', '/nowhere');

    const r = await t.call('GET', '/metrics', { as: admin });
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(metric(r.text, 'legate_http_requests_total{method="POST",route="/authorize",status="200"}')).toBe(3);
    expect(metric(r.text, 'legate_http_requests_total{method="GET",route="/agents/:id",status="404"}')).toBe(1);
    expect(metric(r.text, 'legate_http_requests_total{method="",route="unknown",status="404"}')).toBe(1);
    expect(metric(r.text, 'legate_decisions_total{result="allowed",reason=""}')).toBe(2);
    expect(metric(r.text, 'legate_decisions_total{result="denied",reason="NO_PERMISSION"}')).toBe(1);
    expect(metric(r.text, 'legate_ledger_records_total')).toBe(3);
    expect(metric(r.text, 'legate_ledger_batches_total')).toBe(3);
    expect(metric(r.text, 'legate_ledger_failures_total')).toBe(0);
    expect(metric(r.text, 'legate_ledger_queue')).toBe(0);
    expect(r.text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(r.text).toMatch(/^legate_info\{version="[^"]+",database="(sqlite|postgres)"\} 1$/m);
    for (const secret of [agent.token, alice.token, agent.id]) expect(r.text).not.toContain(secret);
  });

  it('has latency by route, sizes of batches, open streams and the webhook queue', async () => {
    // Nothing listens at port 9: the delivery waits for its next attempt.
    const t = await createTestService({ config: { webhooks: { allowPrivateNetworks: true } } });
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'x', actions: ['read'] }] });
    for (let i = 0; i < 3; i++) await t.authorize(agent, { action: 'read', resource: 'x' });
    const hook = { url: 'http://127.0.0.1:9/hook', types: ['agent.created'] };
    expect((await t.call('POST', '/webhooks', { as: alice, body: hook })).status).toBe(201);
    await t.agent(alice);
    const stream = await t.legate.fetch(
      new Request('http://localhost:3000/api/legate/events/stream', {
        headers: { authorization: `Bearer ${alice.token}`, accept: 'text/event-stream' },
      }),
    );
    const admin = await t.admin();
    const scrape = async () => (await t.call('GET', '/metrics', { as: admin })).text;
    // The delivery is queued after the answer.
    await vi.waitFor(async () => expect(metric(await scrape(), 'legate_webhook_queue')).toBe(1));
    const text = await scrape();
    await stream.body?.cancel();
    const labels = 'method="POST",route="/authorize"';
    expect(metric(text, `legate_http_request_duration_seconds_bucket{${labels},le="+Inf"}`)).toBe(3);
    expect(metric(text, `legate_http_request_duration_seconds_count{${labels}}`)).toBe(3);
    expect(metric(text, `legate_http_request_duration_seconds_sum{${labels}}`)).toBeGreaterThan(0);
    const buckets = [
      ...text.matchAll(/^legate_http_request_duration_seconds_bucket\{method="POST",route="\/authorize",.* (\d+)$/gm),
    ];
    expect(buckets.map((b) => Number(b[1]))).toEqual(buckets.map((b) => Number(b[1])).sort((a, b) => a - b));
    expect(metric(text, 'legate_ledger_batch_size_count')).toBe(3);
    expect(metric(text, 'legate_ledger_batch_size_bucket{le="1"}')).toBe(3);
    expect(metric(text, 'legate_event_streams')).toBe(1);
  });

  it('has names that promtool check metrics accepts', async () => {
    const t = await createTestService();
    const { text } = await t.call('GET', '/metrics', { as: await t.admin() });
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((m) => [m[1] as string, m[2] as string]));
    expect(types.size).toBeGreaterThan(20);
    for (const [name, type] of types) {
      expect(text, name).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
      // The rules of prometheus/util/promlint.
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name, name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(name, name).not.toMatch(/_(count|sum|bucket)$/);
      expect(name, name).not.toMatch(/(^|_)(gauge|counter|histogram|summary)(_|$)/);
      expect(name, name).not.toMatch(/(milliseconds|_ms|_minutes|_hours|_kilobytes|_megabytes|_percent)(_|$)/);
    }
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of lines) expect(line).toMatch(/^[a-z_0-9]+(\{([a-z_]+="[^"]*",?)+\})? (-?[0-9.e+-]+|Nan)$/);
  });

  it('200 for the metrics token', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    expect((await t.call('GET', '/metrics', { as: TOKEN })).status).toBe(200);
    expect((await t.call('GET', '/metrics', { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
  });

  it('401 without a credential, with a wrong one, and with a metrics token if none is configured', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    const bare = await createTestService();
    for (const r of [
      await t.call('GET', '/metrics'),
      await t.call('GET', '/metrics', { as: `${TOKEN}x` }),
      await t.call('GET', '/metrics', { as: TOKEN.slice(1) }),
      await t.call('GET', '/metrics', { as: '' }),
      await bare.call('GET', '/metrics', { as: TOKEN }),
      await bare.call('GET', '/metrics', { as: 'undefined' }),
    ]) {
      expect([r.status, r.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
      expect(r.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  it('403 for a user, for an agent, and for a narrowed token of an admin', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    const narrowed = await t.user({ role: 'admin', scopes: ['audit:read'] });
    for (const as of [alice, agent, narrowed]) expect((await t.call('GET', '/metrics', { as })).status).toBe(403);
  });

  it('the metrics token gives access to nothing else', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    for (const path of ['/agents', '/users', '/auth/session'])
      expect((await t.call('GET', path, { as: TOKEN })).status).toBe(401);
  });
});

describe('GET /openapi.json', () => {
  const document = async (t: TestService): Promise<Document> => (await t.call('GET', '/openapi.json')).body;

  it('200 for anyone, OpenAPI 3.1', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/openapi.json');
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(r.body.openapi).toBe('3.1.0');
  });

  it('has every declared route once, without pages and aliases, with a unique operationId and valid references', async () => {
    const t = await createTestService();
    const d = await document(t);
    const operations = Object.entries(d.paths as Document).flatMap(([path, methods]) =>
      Object.entries(methods as Document).map(
        ([method, o]) => ({ name: `${method.toUpperCase()} ${path}`, o }) as Document,
      ),
    );
    const mounted = mountRoutes(modules, t.legate.platform.config);
    const declared = describedRoutes(mounted).map(
      ({ route, path }) => `${route.method} ${path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')}`,
    );
    expect(operations.map((x) => x.name).sort()).toEqual(declared.sort());
    expect(new Set(operations.map((x) => x.o.operationId)).size).toBe(operations.length);
    const hidden = mounted
      .filter((m) => !describedRoutes(mounted).includes(m))
      .map((m) => `${m.route.method} ${m.path}`);
    expect(hidden).toEqual(
      expect.arrayContaining(['GET /account/sign-in', 'GET /docs', 'POST /mcp/token', 'POST /token']),
    );
    for (const shown of ['GET /metrics', 'POST /password/reset', 'POST /api/legate/oauth/token', 'DELETE /agents/:id'])
      expect(hidden).not.toContain(shown);
    const references = [...JSON.stringify(d).matchAll(/"\$ref":"([^"]+)"/g)].map((m) => m[1] as string);
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references)
      expect(d.components.schemas, reference).toHaveProperty(reference.replace('#/components/schemas/', ''));
    expect(JSON.stringify(d)).not.toContain('$defs');
  });

  it('describes path and query parameters', async () => {
    const d = await document(await createTestService());
    expect(d.paths['/agents/{id}'].get.parameters).toEqual([
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
    expect(d.paths['/agents'].get.parameters).toContainEqual(
      expect.objectContaining({
        name: 'status',
        in: 'query',
        required: false,
        schema: expect.objectContaining({ enum: ['active', 'revoked', 'expired'] }),
      }),
    );
  });

  it('describes request, answer, and errors with their codes', async () => {
    const d = await document(await createTestService());
    const create = d.paths['/agents'].post;
    expect(create.requestBody).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/CreateAgentRequest' },
          example: expect.objectContaining({ type: 'autonomous' }),
        },
      },
    });
    expect(create.responses['201'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/AgentWithToken',
    });
    const codes = (status: string): string[] =>
      create.responses[status].content['application/json'].schema.allOf[1].properties.error.properties.code.enum;
    expect(codes('400')).toEqual(['VALIDATION_FAILED']);
    expect(codes('422').sort()).toEqual([
      'AGENT_LIMIT_EXCEEDED',
      'EXPIRES_AT_IN_PAST',
      'IDEMPOTENCY_KEY_REUSED',
      'OWNER_NOT_FOUND',
      'POLICY_TOO_LARGE',
    ]);
    expect(Object.keys(create.responses).sort()).toEqual([
      '201',
      '400',
      '401',
      '403',
      '409',
      '413',
      '415',
      '422',
      '500',
      '503',
    ]);
    const request = d.components.schemas.CreateAgentRequest;
    expect(request.required).toEqual(['ownerId', 'name', 'type']);
    expect(request.additionalProperties).toBe(false);
    expect(d.components.schemas.Agent.additionalProperties).toBeUndefined();
    expect(Object.keys(d.paths['/agents'].get.responses['200'].headers)).toEqual(['Link', 'Legate-Total-Count']);
    expect(create.responses['201'].headers).toBeUndefined();
    expect(d.paths['/authorize'].post.responses['503'].description).toContain('`AUDIT_UNAVAILABLE`');
    expect(d.paths['/agents/{id}'].delete.responses['204']).toEqual({ description: expect.any(String) });
  });

  it('has a valid example for each body that an administrator may send', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const mounted = describedRoutes(mountRoutes(modules, t.legate.platform.config));
    const withBody = mounted.filter(({ route }) => route.body);
    expect(withBody.map(({ route }) => `${route.method} ${route.path}`).sort()).toEqual(Object.keys(EXAMPLES).sort());
    for (const { route, path } of withBody) {
      const name = `${route.method} ${route.path}`;
      const example = EXAMPLES[name] as Record<string, string>;
      expect(route.body?.safeParse(example).error, name).toBeUndefined();
      const sent =
        route.form === 'only'
          ? {
              raw: new URLSearchParams(example).toString(),
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
            }
          : { body: example };
      const r = await t.call(route.method, path.replace(/:\w+/g, 'none'), { as: admin, ...sent });
      expect(r.status, `${name}: ${r.text}`).toBeLessThan(500);
      expect(r.body?.error?.code, name).not.toBe('VALIDATION_FAILED');
    }
  });

  it('describes numbers in URLs as integers, and OAuth in its wire format', async () => {
    const d = await document(await createTestService());
    const parameter = (path: string, name: string) =>
      d.paths[path].get.parameters.find((p: Document) => p.name === name).schema;
    expect(parameter('/agents', 'limit')).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000 });
    expect(parameter('/agents', 'limit')).not.toHaveProperty('pattern');
    expect(parameter('/audit', 'offset').type).toBe('integer');
    const token = d.paths['/api/legate/oauth/token'].post;
    expect(Object.keys(token.requestBody.content)).toEqual(['application/x-www-form-urlencoded']);
    expect(token.responses['400'].content['application/json'].schema).toMatchObject({
      required: ['error', 'error_description'],
      properties: { error: { enum: expect.arrayContaining(['invalid_grant', 'invalid_request']) } },
    });
    expect(token.responses['429'].content['application/json'].schema.allOf).toBeDefined();
    expect(d.paths['/api/legate/oauth/introspect'].post.security).toEqual([{ client: [] }, { bearer: [] }]);
    expect(d.paths['/audit/export'].get.responses['200'].content['application/json'].schema.type).toBe('array');
    expect(d.info.description).toContain('Authorization: Bearer');
  });

  it('names the callers that may use a route', async () => {
    const d = await document(await createTestService());
    expect(d.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      cookie: { type: 'apiKey', in: 'cookie' },
    });
    expect(d.paths['/agents'].post.security).toEqual([{ bearer: [] }, { cookie: [] }]);
    expect(d.paths['/agents'].post.description).toContain('`agents:write`');
    expect(d.paths['/health/live'].get.security).toEqual([]);
  });

  it('shows routes at their mounts', async () => {
    const t = await createTestService({ config: { http: { restPath: '/auth' } } });
    const d = (await t.call('GET', '/auth/openapi.json')).body;
    expect(d.paths).toHaveProperty('/auth/agents/{id}');
    expect(d.paths).not.toHaveProperty('/agents/{id}');
  });
});

describe('GET /docs', () => {
  it('200: a page without references to other hosts', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/docs');
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(r.text).not.toMatch(/https?:|\/\//);
    const policy = r.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('all its references exist', async () => {
    const t = await createTestService();
    const { text } = await t.call('GET', '/docs');
    const references = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map((m) => m[1] as string);
    expect(references).toHaveLength(4);
    for (const reference of references) {
      const r = await t.call('GET', `/${reference}`);
      expect([reference, r.status, r.headers.get('content-type')]).toEqual([
        reference,
        200,
        `text/${reference.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`,
      ]);
      expect(r.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});

describe('GET /docs/:file', () => {
  it('304 for a cached file', async () => {
    const t = await createTestService();
    const etag = (await t.call('GET', '/docs/swagger-ui.css')).headers.get('etag') ?? '';
    const r = await t.call('GET', '/docs/swagger-ui.css', { headers: { 'if-none-match': etag } });
    expect([r.status, r.text]).toEqual([304, '']);
  });

  it('404 for anything else', async () => {
    const t = await createTestService();
    for (const file of [
      'index.html',
      'package.json',
      '..%2fpackage.json',
      '%2e%2e/package.json',
      'swagger-ui.css.map',
      '__proto__',
    ]) {
      const r = await t.call('GET', `/docs/${file}`);
      expect([file, r.status, r.body.error.code]).toEqual([file, 404, 'NOT_FOUND']);
    }
  });
});
