import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const ROOT = '/.well-known/oauth-protected-resource';

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});

describe('GET /.well-known/oauth-protected-resource', () => {
  it("[RFC 9728 2] the metadata have the service's audience, standard members and the registered servers", async () => {
    const { id } = await t.legate.mcp.registerServer({
      name: 'github',
      endpoint: 'https://mcp.example.com/github',
      tools: ['search'],
      authRequired: true,
    });
    const r = await t.call('GET', ROOT);
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(r.body).toMatchObject({
      resource: 'http://localhost:3000',
      authorization_servers: ['http://localhost:3000'],
      bearer_methods_supported: ['header'],
    });
    expect(r.body.scopes_supported).toEqual(
      expect.arrayContaining(['mcp:read', 'mcp:execute', 'agents:read', 'agents:write']),
    );
    expect(r.body.scopes_supported).not.toContain('offline_access');
    expect(r.body.mcp_servers).toContainEqual({
      id,
      name: 'github',
      endpoint: 'https://mcp.example.com/github',
      tools: ['search'],
      auth_required: true,
    });
  });

  it('is at the root of the domain whatever the mounts, and byte for byte as configured', async () => {
    const issuer = 'https://Auth.Example.com:443/tenant-1';
    const audience = 'https://API.example.com/v1/';
    const other = await createTestService({
      config: { mcp: { issuer, audience }, http: { restPath: '/api/v1', basePath: '/base' } },
    });
    const r = await other.call('GET', ROOT);
    expect([r.status, r.body.resource, r.body.authorization_servers]).toEqual([200, audience, [issuer]]);
    expect((await other.call('GET', `${ROOT}/v1/`)).body.resource).toBe(audience);
    expect((await other.call('GET', `${ROOT}/v1`)).status).toBe(404);
    const refused = await other.call('GET', '/api/v1/agents');
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer issuer="${issuer}", resource="${audience}", resource_metadata="http://localhost:3000${ROOT}"`,
    );
  });

  it.each([
    ['https://auth.example.com/', 'issuer'],
    ['https://auth.example.com?x=1', 'issuer'],
    ['https://auth.example.com/"', 'issuer'],
    ['http://auth.example.com', 'issuer'],
    ['https://auth.example.com/#x', 'audience'],
  ])('%s is refused as %s at start', async (address, option) => {
    await expect(createTestService({ config: { mcp: { [option]: address } } })).rejects.toThrow(`mcp.${option}`);
  });
});

describe('GET /.well-known/oauth-protected-resource/<path>', () => {
  it.each(['/mcp', '/mcp/', '/a/b/mcp', '/mcp%20x', '/MCP', '/q?tenant=1'])(
    '[RFC 9728 3.3] metadata at the path %s are 200, with the requested `resource`',
    async (path) => {
      const endpoint = `http://localhost:3000${path}`;
      await t.legate.mcp.registerServer({ name: `at ${path.replaceAll('*', '')}`, endpoint });
      const r = await t.call('GET', ROOT + path);
      expect(r.status).toBe(200);
      expect(r.body).toEqual({
        resource: endpoint,
        authorization_servers: ['http://localhost:3000'],
        bearer_methods_supported: ['header'],
        scopes_supported: ['mcp:read', 'mcp:execute'],
        resource_name: `at ${path}`,
      });
    },
  );

  it('a server on the origin of the service takes precedence over one elsewhere with the same path', async () => {
    await t.legate.mcp.registerServer({ name: 'elsewhere', endpoint: 'https://mcp.example.com/same' });
    expect((await t.call('GET', `${ROOT}/same`)).body.resource).toBe('https://mcp.example.com/same');
    await t.legate.mcp.registerServer({ name: 'here', endpoint: 'http://localhost:3000/same' });
    expect((await t.call('GET', `${ROOT}/same`)).body.resource).toBe('http://localhost:3000/same');
  });

  it.each(['/unknown', '/mcp//', '/mcp/x', '/same/', '/same?x=1', '/same%2F', '/%00', '/..%2fsame', '/agents'])(
    '[RFC 9728 3.1] metadata at %s, where no server is registered, are 404 as JSON',
    async (path) => {
      const r = await t.call('GET', ROOT + path);
      expect([r.status, r.headers.get('content-type'), r.body.error.code]).toEqual([
        404,
        'application/json; charset=utf-8',
        'NOT_FOUND',
      ]);
    },
  );

  it('404 as JSON for other well-known addresses', async () => {
    const r = await t.call('GET', '/.well-known/openid-configuration');
    expect([r.status, r.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('404 once the server is removed', async () => {
    const { id } = await t.legate.mcp.registerServer({
      name: 'short-lived',
      endpoint: 'http://localhost:3000/short-lived',
    });
    expect((await t.call('GET', `${ROOT}/short-lived`)).status).toBe(200);
    await t.legate.mcp.removeServer(id);
    expect((await t.call('GET', `${ROOT}/short-lived`)).status).toBe(404);
  });
});

describe('pages of other origins (CORS)', () => {
  const origin = 'https://inspector.example';

  it.each([ROOT, `${ROOT}/cors`, `${ROOT}/unknown`])(
    'may read %s, including refusals, without credentials',
    async (path) => {
      await t.legate.mcp.registerServer({ name: 'cors', endpoint: 'http://localhost:3000/cors' });
      const r = await t.call('GET', path, { headers: { origin } });
      expect([r.headers.get('access-control-allow-origin'), r.headers.get('access-control-allow-credentials')]).toEqual(
        ['*', null],
      );
      expect(r.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    },
  );

  it('receive a response to preflight requests', async () => {
    const r = await t.call('OPTIONS', ROOT, {
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    });
    expect(r.status).toBe(204);
    expect(r.headers.get('access-control-allow-origin')).toBe('*');
    expect(r.headers.get('access-control-allow-methods')).toContain('GET');
    for (const name of ['authorization', 'content-type', 'mcp-protocol-version'])
      expect(r.headers.get('access-control-allow-headers')?.toLowerCase()).toContain(name);
  });

  it('cannot read any other response', async () => {
    const r = await t.call('GET', '/health/live', { headers: { origin } });
    expect(r.headers.get('access-control-allow-origin')).toBeNull();
    expect((await t.call('OPTIONS', '/agents', { headers: { origin } })).status).toBe(405);
  });
});

describe('a token that lacks a scope', () => {
  it('[RFC 6750 3.1] a token that lacks a scope is 403, and the challenge names the scope', async () => {
    const alice = await t.user({ scopes: ['audit:read'] });
    const r = await t.call('GET', '/agents', { as: alice });
    expect([r.status, r.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", scope="agents:read", issuer="http://localhost:3000", ` +
        `resource="http://localhost:3000", resource_metadata="http://localhost:3000${ROOT}"`,
    ]);
  });
});
