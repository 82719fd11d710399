import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const WELL_KNOWN = '/.well-known/oauth-authorization-server';

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});

describe('GET /.well-known/oauth-authorization-server', () => {
  it('[RFC 8414 2] the metadata list issuer, endpoints and supported features', async () => {
    const r = await t.call('GET', WELL_KNOWN);
    const at = 'http://localhost:3000/api/legate/oauth';
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toMatch(/^application\/json/);
    expect(r.body).toMatchObject({
      issuer: 'http://localhost:3000',
      authorization_endpoint: `${at}/authorize`,
      token_endpoint: `${at}/token`,
      registration_endpoint: `${at}/register`,
      revocation_endpoint: `${at}/revoke`,
      introspection_endpoint: `${at}/introspect`,
      response_types_supported: ['code'],
    });
    expect(r.body.grant_types_supported).toEqual(
      expect.arrayContaining(['authorization_code', 'refresh_token', 'client_credentials']),
    );
    expect(r.body).not.toHaveProperty('jwks_uri');
  });

  it('[RFC 7636 6.2; MCP 2026-07-28 authorization] the metadata announce PKCE with S256 only', async () => {
    expect((await t.call('GET', WELL_KNOWN)).body.code_challenge_methods_supported).toEqual(['S256']);
  });

  it('[RFC 8414 2; MCP 2026-07-28 client registration] announces public clients, CIMD and offline_access', async () => {
    const { body } = await t.call('GET', WELL_KNOWN);
    expect(body.token_endpoint_auth_methods_supported).toEqual(
      expect.arrayContaining(['none', 'client_secret_basic', 'client_secret_post']),
    );
    expect(body.client_id_metadata_document_supported).toBe(true);
    expect(body.scopes_supported).toEqual(
      expect.arrayContaining(['mcp:read', 'mcp:execute', 'agents:read', 'offline_access']),
    );
  });

  it('[RFC 9207 3] the metadata announce iss in authorization responses', async () => {
    expect((await t.call('GET', WELL_KNOWN)).body.authorization_response_iss_parameter_supported).toBe(true);
  });

  it('[RFC 8414 3; MCP 2026-07-28 security] metadata are readable from every origin, without credentials', async () => {
    const r = await t.call('GET', WELL_KNOWN, { headers: { origin: 'https://inspector.example' } });
    expect(r.headers.get('access-control-allow-origin')).toBe('*');
    expect(r.headers.has('access-control-allow-credentials')).toBe(false);
    const preflight = await t.call('OPTIONS', WELL_KNOWN, {
      headers: { origin: 'https://inspector.example', 'access-control-request-method': 'GET' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('mcp-protocol-version');
  });

  it.each([
    `${WELL_KNOWN}/mcp`,
    `${WELL_KNOWN}/`,
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-servers',
    '/mcp/.well-known/openid-configuration',
  ])('[MCP 2026-07-28 discovery] other discovery documents are 404 as JSON, at %s', async (path) => {
    const r = await t.call('GET', path);
    expect(r.status).toBe(404);
    expect(r.headers.get('content-type')).toMatch(/^application\/json/);
    expect(r.body.error.code).toBe('NOT_FOUND');
  });
});

it('removes the trailing slash of the base URL from the issuer', async () => {
  const own = await createTestService({ config: { baseUrl: 'https://id.example/' } });
  const { body } = await own.call('GET', WELL_KNOWN);
  expect([body.issuer, body.token_endpoint]).toEqual([
    'https://id.example',
    'https://id.example/api/legate/oauth/token',
  ]);
  expect((await own.call('GET', '/.well-known/oauth-protected-resource')).body.resource).toBe('https://id.example');
});

describe('an issuer with a path', () => {
  const issuer = 'https://auth.example/legate';

  it('[RFC 8414 3.1] metadata of an issuer with a path are under it, with the issuer byte for byte', async () => {
    const own = await createTestService({ config: { mcp: { issuer } } });
    const r = await own.call('GET', `${WELL_KNOWN}/legate`);
    expect(r.status).toBe(200);
    expect(r.body.issuer).toBe(issuer);
    expect((await own.call('GET', WELL_KNOWN)).body.issuer).toBe(issuer);
    expect((await own.call('GET', `${WELL_KNOWN}/legate/more`)).status).toBe(404);
    expect((await own.call('GET', '/.well-known/oauth-protected-resource')).body.authorization_servers).toEqual([
      issuer,
    ]);
  });

  it('is refused with a trailing slash, since clients compare issuers as strings', async () => {
    await expect(createTestService({ config: { mcp: { issuer: 'https://auth.example/' } } })).rejects.toThrow(
      /mcp.issuer/,
    );
  });
});

describe('CORS', () => {
  const endpoints = ['/oauth', '/mcp', '/api/legate/oauth', '/api/legate/mcp'];

  it('[RFC 9700 2.6] any origin may call token, revoke and register; none authorize, consent, introspect', async () => {
    for (const prefix of endpoints) {
      for (const name of ['token', 'revoke', 'register'])
        expect(
          (await t.call('OPTIONS', `${prefix}/${name}`)).headers.get('access-control-allow-origin'),
          `${prefix}/${name}`,
        ).toBe('*');
      for (const name of ['authorize', 'authorize/consent', 'introspect']) {
        const r = await t.call('OPTIONS', `${prefix}/${name}`, {
          headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
        });
        expect(r.headers.has('access-control-allow-origin'), `${prefix}/${name}`).toBe(false);
      }
    }
  });
});
