import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../test/support/service.ts';
import { mountRoutes } from '../http/app.ts';
import { describedRoutes } from '../http/openapi.ts';
import { modules } from '../modules.ts';
import { EXAMPLES } from './index.ts';

/** A part of the document, with its references resolved. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is looked into, field by field.
type Document = any;

describe('GET /openapi.json', () => {
  const document = async (t: TestService): Promise<Document> => (await t.call('GET', '/openapi.json')).body;

  it('200 for anyone, OpenAPI 3.1', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/openapi.json');
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(r.body.openapi).toBe('3.1.0');
  });

  it('has each declared route once, no pages and aliases, with a unique operationId and valid references', async () => {
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
        schema: expect.objectContaining({
          type: 'array',
          items: { type: 'string', enum: ['active', 'revoked', 'expired'] },
        }),
      }),
    );
  });

  it('describes request, response, and errors with their codes', async () => {
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
    expect(Object.keys(create.responses['201'].headers)).toEqual(['ETag']);
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
  it('200: a page that does not refer to other hosts', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/docs');
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(r.text).not.toMatch(/https?:|\/\//);
    const policy = r.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it('has the banner of the service', async () => {
    const t = await createTestService({ config: { service: { banner: 'Only a <test>' } } });
    expect((await t.call('GET', '/docs')).text).toContain('<p class="banner" role="note">Only a &lt;test&gt;</p>');
    expect((await (await createTestService()).call('GET', '/docs')).text).not.toContain('banner');
  });

  it('every link of the page works', async () => {
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
