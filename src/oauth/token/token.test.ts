import { beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  claimsOf,
  code,
  exchange,
  form,
  formOfCode,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
  withServers,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const PATHS = ['/api/legate/oauth/token', '/api/legate/mcp/token', '/oauth/token', '/mcp/token', '/token'];
const ISSUER = 'http://localhost:3000';
const NOTES = 'https://notes.example/mcp';

let t: TestService;
let person: Person;
let client: Json;
beforeAll(async () => {
  ({ t, person, client } = await withServers({ notes: NOTES, mail: 'https://mail.example/mcp' }));
});
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });
const codeFields = (of: Json = client, more?: Record<string, string | undefined>) => formOfCode(t, person, of, more);
const without = (fields: Record<string, string>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));

describe('POST /oauth/token, grant_type=authorization_code', () => {
  it.each(PATHS)(
    '[RFC 6749 5.1] a code is exchanged for a token response that must not be cached, at %s',
    async (path) => {
      const r = await form(t, path, await codeFields());
      expect(r.status, r.text).toBe(200);
      expect(r.body).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: expect.stringMatching(/^lgr_/),
        scope: 'mcp:read mcp:execute',
      });
      expect(r.headers.get('cache-control')).toBe('no-store');
      expect(r.headers.get('content-type')).toMatch(/^application\/json/);
      expect(r.headers.get('access-control-allow-origin')).toBe('*');
    },
  );

  it('[RFC 9068 2.2] an access token is a JWT of type at+jwt with the specified claims', async () => {
    const { access_token } = await tokens(t, person, client);
    expect(JSON.parse(Buffer.from(access_token.split('.')[0], 'base64url').toString())).toEqual({
      alg: 'HS256',
      typ: 'at+jwt',
      kid: expect.any(String),
    });
    const iat = Math.floor(t.clock.now() / 1000);
    expect(claimsOf(access_token)).toEqual({
      iss: ISSUER,
      sub: expect.stringMatching(/^agt_/),
      aud: ISSUER,
      client_id: client.client_id,
      scope: 'mcp:read mcp:execute',
      iat,
      exp: iat + 3600,
      jti: expect.any(String),
      user_id: person.id,
    });
  });

  it.each<[string, (fields: Record<string, string>) => Record<string, string>, string]>([
    ['no code', (f) => without(f, 'code'), 'invalid_request'],
    ['another code', (f) => ({ ...f, code: `${f['code']}x` }), 'invalid_grant'],
    ['no verifier', (f) => without(f, 'code_verifier'), 'invalid_request'],
    ['an empty verifier', (f) => ({ ...f, code_verifier: '' }), 'invalid_request'],
    ['another verifier', (f) => ({ ...f, code_verifier: 'x'.repeat(43) }), 'invalid_grant'],
    ['a verifier of 42 characters', (f) => ({ ...f, code_verifier: 'x'.repeat(42) }), 'invalid_grant'],
    ['a verifier of 129 characters', (f) => ({ ...f, code_verifier: 'x'.repeat(129) }), 'invalid_grant'],
    ['a verifier with padding', (f) => ({ ...f, code_verifier: `${f['code_verifier']}=` }), 'invalid_grant'],
    ['no redirect URI', (f) => without(f, 'redirect_uri'), 'invalid_request'],
    ['an empty redirect URI', (f) => ({ ...f, redirect_uri: '' }), 'invalid_request'],
    ['another redirect URI', (f) => ({ ...f, redirect_uri: 'https://app.example/callback/' }), 'invalid_grant'],
    ['another resource', (f) => ({ ...f, resource: NOTES }), 'invalid_target'],
    ['a resource of 3,000 characters', (f) => ({ ...f, resource: `${NOTES}/${'x'.repeat(3000)}` }), 'invalid_target'],
    ['an unknown resource', (f) => ({ ...f, resource: 'https://elsewhere.example/' }), 'invalid_target'],
    ['no grant type', (f) => without(f, 'grant_type'), 'invalid_request'],
    ['another grant type', (f) => ({ ...f, grant_type: 'password' }), 'unsupported_grant_type'],
    ['a code of 10,000 characters', (f) => ({ ...f, code: 'x'.repeat(10_000) }), 'invalid_grant'],
    ['a code with a NUL', (f) => ({ ...f, code: 'lga_\u0000' }), 'invalid_grant'],
  ])('[RFC 6749 5.2; RFC 7636 4.6] a code is refused with 400 for %s', async (_what, change, error) => {
    const r = await form(t, '/oauth/token', change(await codeFields()));
    expect([r.status, r.body.error], r.text).toEqual([400, error]);
    expect(r.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(r.headers.get('cache-control')).toBe('no-store');
    expect(r.headers.has('www-authenticate')).toBe(false);
  });

  it.each(['code_verifier', 'redirect_uri', 'client_id'])(
    '[RFC 6749 4.1.3] a request without %s does not use the code',
    async (name) => {
      const fields = await codeFields();
      expect((await form(t, '/oauth/token', without(fields, name))).status).toBeGreaterThanOrEqual(400);
      expect((await form(t, '/oauth/token', { ...fields, [name]: '' })).status).toBeGreaterThanOrEqual(400);
      const r = await form(t, '/oauth/token', fields);
      expect(r.status, r.text).toBe(200);
      // Also for used codes: an incomplete request does not end the grant.
      await form(t, '/oauth/token', without(fields, name));
      expect((await refreshWith(t, client, r.body.refresh_token)).status).toBe(200);
    },
  );

  it('[RFC 6749 4.1.3] a missing redirect URI does not reveal to another client that a code exists', async () => {
    const other = await register(t);
    const r = await form(
      t,
      '/oauth/token',
      without({ ...(await codeFields()), client_id: other.client_id }, 'redirect_uri'),
    );
    expect([r.status, r.body.error]).toEqual([400, 'invalid_grant']);
  });

  it('[RFC 7636 4.6] a wrong verifier uses up the code', async () => {
    const fields = await codeFields();
    expect((await form(t, '/oauth/token', { ...fields, code_verifier: 'x'.repeat(43) })).body.error).toBe(
      'invalid_grant',
    );
    expect((await form(t, '/oauth/token', fields)).body.error).toBe('invalid_grant');
  });

  it('[RFC 6749 4.1.2; RFC 9700 4.5] a second use of a code ends all its tokens', async () => {
    const fields = await codeFields();
    const first = (await form(t, '/oauth/token', fields)).body;
    expect((await t.legate.mcp.validateToken(first.access_token)).valid).toBe(true);
    expect((await form(t, '/oauth/token', fields)).body.error).toBe('invalid_grant');
    expect((await t.legate.mcp.validateToken(first.access_token)).valid).toBe(false);
    expect((await refreshWith(t, client, first.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('[RFC 6749 4.1.3] another client cannot use a code, and its attempt ends nothing', async () => {
    const fields = await codeFields();
    const other = await register(t);
    expect((await form(t, '/oauth/token', { ...fields, client_id: other.client_id })).body.error).toBe('invalid_grant');
    expect((await form(t, '/oauth/token', fields)).status).toBe(200);
    expect((await form(t, '/oauth/token', { ...fields, client_id: other.client_id })).body.error).toBe('invalid_grant');
  });

  it('[RFC 6749 4.1.2] a code is valid for a minute', async () => {
    const own = await createTestService();
    const someone = await signUp(own);
    const app = await register(own);
    for (const [ms, status] of [
      [59_999, 200],
      [60_000, 400],
    ] as const) {
      const request = ask(app);
      const value = await code(own, someone, request);
      own.clock.advance(ms);
      expect((await exchange(own, request, value)).status).toBe(status);
    }
  });

  it('limits the refresh token to the configured lifetime, and returns the expires_in of the token', async () => {
    const own = await createTestService({ config: { mcp: { accessTokenTtl: 60, refreshTokenTtl: 120 } } });
    const app = await register(own);
    const got = await tokens(own, await signUp(own), app);
    expect(got.expires_in).toBe(60);
    own.clock.advance(59_999);
    expect((await own.legate.mcp.validateToken(got.access_token)).valid).toBe(true);
    own.clock.advance(1);
    expect((await own.legate.mcp.validateToken(got.access_token)).valid).toBe(false);
    expect((await own.call('GET', '/agents', { as: got.access_token })).status).toBe(401);
    own.clock.advance(60_000);
    expect((await refreshWith(own, app, got.refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('the client of a token request', () => {
  it.each<[string, Json, (c: Json) => [Record<string, string>, Record<string, string>], number]>([
    ['no method stated, no secret sent', {}, () => [{}, {}], 200],
    ['no method stated, its secret in the body', {}, (c) => [{ client_secret: c.client_secret }, {}], 200],
    ['no method stated, its secret by Basic', {}, (c) => [{}, basic(c.client_id, c.client_secret)], 200],
    ['no method stated, a wrong secret', {}, () => [{ client_secret: 'lgc_wrong' }, {}], 401],
    ['none, no secret sent', { token_endpoint_auth_method: 'none' }, () => [{}, {}], 200],
    ['none, an empty secret', { token_endpoint_auth_method: 'none' }, () => [{ client_secret: '' }, {}], 200],
    ['none, some secret', { token_endpoint_auth_method: 'none' }, () => [{ client_secret: 'x' }, {}], 401],
    [
      'client_secret_post, its secret',
      { token_endpoint_auth_method: 'client_secret_post' },
      (c) => [{ client_secret: c.client_secret }, {}],
      200,
    ],
    ['client_secret_post, none sent', { token_endpoint_auth_method: 'client_secret_post' }, () => [{}, {}], 401],
    [
      'client_secret_basic, its secret',
      { token_endpoint_auth_method: 'client_secret_basic' },
      (c) => [{}, basic(c.client_id, c.client_secret)],
      200,
    ],
    [
      'client_secret_basic, form-encoded',
      { token_endpoint_auth_method: 'client_secret_basic' },
      (c) => [{}, basic(encodeURIComponent(c.client_id), encodeURIComponent(c.client_secret))],
      200,
    ],
    ['client_secret_basic, none sent', { token_endpoint_auth_method: 'client_secret_basic' }, () => [{}, {}], 401],
    [
      'client_secret_basic, a wrong one',
      { token_endpoint_auth_method: 'client_secret_basic' },
      (c) => [{}, basic(c.client_id, 'x')],
      401,
    ],
    [
      'client_secret_basic, an empty one',
      { token_endpoint_auth_method: 'client_secret_basic' },
      (c) => [{}, basic(c.client_id, '')],
      401,
    ],
    ['Basic that is not base64', {}, () => [{}, { authorization: 'Basic %%%' }], 401],
    ['Basic of another client', {}, () => [{}, basic('cli_x', 'y')], 400],
    [
      'Basic and a secret in the body',
      {},
      (c) => [{ client_secret: c.client_secret }, basic(c.client_id, c.client_secret)],
      400,
    ],
  ])('[RFC 6749 2.3.1 and 5.2] a client authenticates as it registered: %s', async (_what, metadata, sent, status) => {
    const of = await register(t, metadata);
    const [fields, headers] = sent(of);
    const r = await form(t, '/oauth/token', { ...(await codeFields(of)), ...fields }, headers);
    expect(r.status, r.text).toBe(status);
    if (status === 200) return;
    expect(r.body.error).toBe(status === 401 ? 'invalid_client' : 'invalid_request');
    expect(r.headers.get('www-authenticate')).toEqual(
      status === 401 && headers['authorization'] ? expect.stringMatching(/^Basic realm=/) : null,
    );
  });

  it('[RFC 6749 5.2] an unknown or missing client is 401 invalid_client, so that the SDK registers again', async () => {
    for (const client_id of ['cli_00000000000000000000000000', 'cli_\u0000', 'agt_00000000000000000000000000', '']) {
      const r = await form(t, '/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x', client_id });
      expect([r.status, r.body.error], client_id).toEqual([401, 'invalid_client']);
    }
  });

  it.each<[string, number, { raw: string; headers: Record<string, string> }]>([
    ['JSON', 415, { raw: '{"grant_type":"refresh_token"}', headers: { 'content-type': 'application/json' } }],
    ['no type', 415, { raw: 'grant_type=refresh_token', headers: {} }],
    [
      'a parameter twice',
      400,
      {
        raw: 'grant_type=refresh_token&client_id=a&client_id=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
    [
      'a code twice',
      400,
      {
        raw: 'grant_type=authorization_code&client_id=a&code=b&code=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
    ['an empty body', 400, { raw: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    [
      '100 KB',
      413,
      {
        raw: `grant_type=x&y=${'x'.repeat(100_000)}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
  ])('[RFC 6749 3.2] a token request of %s is refused with %i', async (_what, status, request) => {
    const r = await t.call('POST', '/oauth/token', request);
    expect(r.status).toBe(status);
    expect(r.body).toEqual({ error: 'invalid_request', error_description: expect.any(String) });
    if (status === 415)
      expect(r.body.error_description).toBe('The content type must be application/x-www-form-urlencoded.');
  });

  it('[RFC 6749 3.2] the token endpoint does not accept GET', async () => {
    const r = await t.call('GET', '/oauth/token?grant_type=refresh_token');
    expect([r.status, r.headers.get('allow'), r.headers.get('cache-control')]).toEqual([
      405,
      'POST, OPTIONS',
      'no-store',
    ]);
    expect(r.body).toEqual({ error: 'invalid_request', error_description: expect.any(String) });
  });

  it('has one rate limit for all its paths, with the body of the specification', async () => {
    const own = await createTestService({ config: { rateLimit: {}, http: { basePath: '/api/legate' } } });
    const statuses = [];
    for (let i = 0; i < 25; i++)
      statuses.push((await form(own, PATHS[i % PATHS.length] as string, { grant_type: 'x', client_id: 'y' })).status);
    expect(statuses.filter((s) => s === 429)).toHaveLength(5);
    const r = await form(own, '/token', {});
    expect(r.body.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', details: { limit: 20, window: 60 } });
    expect(r.headers.get('retry-after')).toBe(String(r.body.error.details.retryAfter));
  });
});

describe('the resource of a token', () => {
  it.each([
    [NOTES, NOTES],
    [`${NOTES}/`, NOTES],
    ['HTTPS://NOTES.example/mcp', NOTES],
    [ISSUER, ISSUER],
    [`${ISSUER}/`, ISSUER],
    [undefined, ISSUER],
  ])('[RFC 8707 2] a token for %s has the audience %s, as its registration spells it', async (resource, audience) => {
    const got = await tokens(t, person, client, { resource, prompt: 'consent' });
    expect(claimsOf(got.access_token).aud).toBe(audience);
    expect((await refreshWith(t, client, got.refresh_token, resource === undefined ? {} : { resource })).status).toBe(
      200,
    );
  });

  it('[RFC 8707 3; RFC 9700 4.9] a token for one server is refused by another and by the REST API', async () => {
    const { access_token } = await tokens(t, person, client, { resource: NOTES, scope: 'mcp:read agents:read' });
    expect((await t.legate.mcp.validateToken(access_token, { audience: NOTES })).valid).toBe(true);
    expect((await t.legate.mcp.validateToken(access_token, { audience: 'https://mail.example/mcp' })).valid).toBe(
      false,
    );
    expect((await t.legate.mcp.validateToken(access_token)).valid).toBe(false);
    const r = await t.call('GET', '/agents', { as: access_token });
    expect(r.status).toBe(401);
    expect(r.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
  });

  it('a token for a server creates an agent that may use that server only', async () => {
    const someone = await signUp(t);
    const { access_token } = await tokens(t, someone, client, { resource: NOTES, scope: 'mcp:execute' });
    const agent = (await t.call('GET', `/agents/${claimsOf(access_token).sub}`, { as: someone })).body;
    expect(agent.permissions).toEqual([{ resource: 'mcp:notes:*', actions: ['execute'] }]);
  });
});

describe('an access token at the REST API', () => {
  it("[RFC 6750 3.1] a token reaches the person's things within its scopes, else 403 insufficient_scope", async () => {
    const someone = await signUp(t);
    const { access_token } = await tokens(t, someone, client, { scope: 'agents:read' });
    expect((await t.call('GET', '/agents', { as: access_token })).status).toBe(200);
    const r = await t.call('POST', '/agents', {
      as: access_token,
      body: { ownerId: someone.id, name: 'x', type: 'service' },
    });
    expect(r.status).toBe(403);
    expect(r.headers.get('www-authenticate')).toMatch(
      /error="insufficient_scope".*scope="agents:write"|scope="agents:write".*error="insufficient_scope"/,
    );
    const theirs = await t.agent(await t.user());
    expect((await t.call('GET', `/agents/${theirs.id}`, { as: access_token })).status).toBe(404);
    for (const [method, path] of [
      ['GET', '/users'],
      ['GET', '/mcp/servers'],
      ['GET', '/oauth/clients'],
      ['GET', '/auth/sessions'],
      ['GET', '/oauth/grants'],
    ] as const)
      expect((await t.call(method, path, { as: access_token })).status, path).toBe(403);
  });

  it('validateToken returns the fields of specification 2.9, and checks scopes', async () => {
    const { access_token } = await tokens(t, person, client);
    expect(await t.legate.mcp.validateToken(access_token, { scopes: ['mcp:read'] })).toEqual({
      valid: true,
      agentId: claimsOf(access_token).sub,
      userId: person.id,
      clientId: client.client_id,
      scopes: ['mcp:read', 'mcp:execute'],
      expiresAt: new Date((Math.floor(t.clock.now() / 1000) + 3600) * 1000),
    });
    expect((await t.legate.mcp.validateToken(access_token, { scopes: ['agents:write'] })).valid).toBe(false);
    expect((await t.legate.mcp.validateToken('x')).valid).toBe(false);
  });
});
