import { beforeAll, describe, expect, it } from 'vitest';
import { ask, consent, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { deleteStale } from './delete-client.ts';

const PATHS = ['/api/legate/oauth/register', '/api/legate/mcp/register', '/oauth/register', '/mcp/register'];
const CALLBACK = 'https://app.example/callback';

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});
const post = (body: unknown, path = '/oauth/register', more: Json = {}) => t.call('POST', path, { body, ...more });

describe('POST /oauth/register', () => {
  it.each(PATHS)('returns 201 at %s, with an id and a secret, for the minimal metadata', async (path) => {
    const r = await post({ redirect_uris: [CALLBACK], client_name: 'Least' }, path);
    expect(r.status).toBe(201);
    expect(r.body).toMatchObject({
      client_id: expect.stringMatching(/^cli_/),
      client_secret: expect.stringMatching(/^lgc_/),
      redirect_uris: [CALLBACK],
      client_name: 'Least',
    });
    expect(r.headers.get('cache-control')).toBe('no-store');
    expect(r.headers.get('pragma')).toBe('no-cache');
    expect(r.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('[RFC 7591 3.2.1] a registration returns the accepted metadata, its time and 0 for a lasting secret', async () => {
    const metadata = {
      redirect_uris: [CALLBACK, 'cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost/callback'],
      client_name: 'Everything',
      client_uri: 'https://app.example',
      logo_uri: 'https://app.example/logo.png',
      contacts: ['people@app.example'],
      software_id: 'app',
      software_version: '1.2',
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp:read offline_access',
      application_type: 'web',
    };
    const { body } = await post({ ...metadata, unknown_member: 1 });
    expect(body).toMatchObject(metadata);
    expect(body).toMatchObject({ client_id_issued_at: Math.floor(t.clock.now() / 1000), client_secret_expires_at: 0 });
    expect(body).not.toHaveProperty('unknown_member');
  });

  it('[RFC 7591 2] a client of method none gets no secret', async () => {
    const { body } = await post({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' });
    expect(body.token_endpoint_auth_method).toBe('none');
    expect(body).not.toHaveProperty('client_secret');
    expect(body).not.toHaveProperty('client_secret_expires_at');
  });

  it('[RFC 7591 2] a client gets the grant types that it names, and by default refresh_token too', async () => {
    const both = ['authorization_code', 'refresh_token'];
    for (const [named, granted] of [
      [undefined, both],
      [['authorization_code'], ['authorization_code']],
      [['refresh_token', 'authorization_code', 'implicit'], both],
    ] as const) {
      const client = await register(t, named === undefined ? {} : { grant_types: named });
      expect(client.grant_types).toEqual(granted);
      const got = await tokens(t, await signUp(t), client);
      expect('refresh_token' in got).toBe(granted.length === 2);
    }
  });

  it.each<[string, Json, string]>([
    ['a fragment', { redirect_uris: [`${CALLBACK}#x`] }, 'invalid_redirect_uri'],
    ['plain http away from loopback', { redirect_uris: ['http://app.example/callback'] }, 'invalid_redirect_uri'],
    [
      'a host that only looks like loopback',
      { redirect_uris: ['http://127.0.0.1.evil.example/callback'] },
      'invalid_redirect_uri',
    ],
    ['a user in the address', { redirect_uris: ['https://app.example@evil.example/'] }, 'invalid_redirect_uri'],
    ['javascript:', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [
      'a host that would end a directive of the policy',
      { redirect_uris: ['https://a;sandbox/cb'] },
      'invalid_redirect_uri',
    ],
    ['JavaScript: with capitals', { redirect_uris: ['JaVaScRiPt:alert(1)'] }, 'invalid_redirect_uri'],
    ['data:', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ['vbscript:', { redirect_uris: ['vbscript:x'] }, 'invalid_redirect_uri'],
    ['file:', { redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
    ['blob:', { redirect_uris: ['blob:https://app.example/1'] }, 'invalid_redirect_uri'],
    ['about:', { redirect_uris: ['about:blank'] }, 'invalid_redirect_uri'],
    ['a relative address', { redirect_uris: ['/callback'] }, 'invalid_redirect_uri'],
    ['a wildcard host', { redirect_uris: ['https://*/callback'] }, 'invalid_redirect_uri'],
    ['a space', { redirect_uris: ['https://app.example/ x'] }, 'invalid_redirect_uri'],
    ['a line break', { redirect_uris: ['https://app.example/\r\nset-cookie:x'] }, 'invalid_redirect_uri'],
    ['a backslash', { redirect_uris: ['https:\\\\app.example\\'] }, 'invalid_redirect_uri'],
    ['3,000 characters', { redirect_uris: [`https://app.example/${'x'.repeat(3000)}`] }, 'invalid_redirect_uri'],
    [
      '21 redirect URIs',
      { redirect_uris: Array.from({ length: 21 }, (_, i) => `${CALLBACK}/${i}`) },
      'invalid_redirect_uri',
    ],
    ['none', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['no redirect URIs', { client_name: 'x' }, 'invalid_redirect_uri'],
    ['a text instead of the list', { redirect_uris: CALLBACK }, 'invalid_redirect_uri'],
    ['a number in the list', { redirect_uris: [1] }, 'invalid_redirect_uri'],
    [
      'a method that is not offered',
      { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'private_key_jwt' },
      'invalid_client_metadata',
    ],
    ['only implicit', { redirect_uris: [CALLBACK], grant_types: ['implicit'] }, 'invalid_client_metadata'],
    ['response type token', { redirect_uris: [CALLBACK], response_types: ['token'] }, 'invalid_client_metadata'],
    [
      'a name of 300 characters',
      { redirect_uris: [CALLBACK], client_name: 'x'.repeat(300) },
      'invalid_client_metadata',
    ],
    [
      'a name that changes the direction of text',
      { redirect_uris: [CALLBACK], client_name: 'elgooG\u202e' },
      'invalid_client_metadata',
    ],
    [
      'a name that nobody sees',
      { redirect_uris: [CALLBACK], client_name: ' \u200b\u2800\u3164' },
      'invalid_client_metadata',
    ],
    ['a name with a NUL', { redirect_uris: [CALLBACK], client_name: 'a\u0000b' }, 'invalid_client_metadata'],
    [
      'a logo with a javascript: URL',
      { redirect_uris: [CALLBACK], logo_uri: 'javascript:alert(1)' },
      'invalid_client_metadata',
    ],
    ['an array', [], 'invalid_client_metadata'],
    ['a text', 'x', 'invalid_client_metadata'],
    ['null', null, 'invalid_client_metadata'],
  ])('[RFC 7591 3.2.2; RFC 9700 2.1] a registration is refused with %s', async (_what, body, error) => {
    const r = await post(body);
    expect(r.status, r.text).toBe(400);
    expect(r.body.error).toBe(error);
    expect(r.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(Object.keys(r.body).sort()).toEqual(['error', 'error_description']);
    expect(r.headers.get('cache-control')).toBe('no-store');
  });

  it.each<[string, number, Json]>([
    ['form fields', 415, { raw: 'client_name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['no type', 415, { raw: '{}' }],
    ['broken JSON', 400, { raw: '{', headers: { 'content-type': 'application/json' } }],
    [
      'a member twice',
      400,
      {
        raw: `{"redirect_uris":["${CALLBACK}"],"redirect_uris":["https://b.example/"]}`,
        headers: { 'content-type': 'application/json' },
      },
    ],
    [
      'a megabyte',
      413,
      {
        raw: JSON.stringify({ redirect_uris: [CALLBACK], x: 'x'.repeat(1_000_000) }),
        headers: { 'content-type': 'application/json' },
      },
    ],
  ])('refuses %s with %i, in the form of OAuth errors', async (_what, status, request) => {
    const r = await t.call('POST', '/oauth/register', request);
    expect(r.status).toBe(status);
    expect(r.body).toEqual({ error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) });
  });

  it('[RFC 9700 4.15] a client cannot choose its id', async () => {
    const alice = await t.user();
    const agent = await t.agent(alice);
    const { body } = await post({ redirect_uris: [CALLBACK], client_id: agent.id, client_name: agent.id });
    expect(body.client_id).toMatch(/^cli_/);
  });

  it('the event of a registration names the person whose credential it had, and nobody otherwise', async () => {
    const admin = await t.admin();
    const actorOf = async (headers: Record<string, string>): Promise<Json> => {
      const { status, body } = await post({ redirect_uris: [CALLBACK] }, '/oauth/register', { headers });
      expect(status).toBe(201);
      const events = await t.call('GET', '/events?types=client.created&limit=1', { as: admin });
      expect(events.body[0].data.clientId).toBe(body.client_id);
      return events.body[0].actor;
    };
    const person = await t.user();
    expect(await actorOf({ authorization: `Bearer ${person.token}` })).toMatchObject({ userId: person.id });
    const agent = await t.agent(person);
    for (const headers of [{}, { authorization: 'Bearer unknown' }, { authorization: `Bearer ${agent.token}` }])
      expect(await actorOf(headers as Record<string, string>)).toMatchObject({ kind: 'user', id: null });
  });

  it('[ASVS 5.0 10.4.7] registration is rate-limited by address', async () => {
    const own = await createTestService({ config: { rateLimit: {} } });
    const statuses = await Promise.all(
      Array.from(
        { length: 70 },
        async () => (await own.call('POST', '/oauth/register', { body: { redirect_uris: [CALLBACK] } })).status,
      ),
    );
    expect(statuses.filter((s) => s === 201)).toHaveLength(60);
    expect(statuses.filter((s) => s === 429)).toHaveLength(10);
    expect(
      (await own.call('POST', '/mcp/register', { body: { redirect_uris: [CALLBACK] }, ip: '192.0.2.9' })).status,
    ).toBe(201);
  });

  it('[ASVS 5.0 10.4.7] a self-registered client that was never used is deleted; other clients are kept', async () => {
    const own = await createTestService();
    const unused = await register(own);
    const used = await register(own);
    const admin = await own.admin();
    const made = (await own.call('POST', '/oauth/clients', { as: admin, body: { redirect_uris: [CALLBACK] } })).body;
    const person = await signUp(own);
    expect((await consent(own, person, ask(used))).status).toBe(303);
    own.clock.advance(24 * 3600_000 + 1);
    await deleteStale(own.legate.platform);
    const left = (await own.call('GET', '/oauth/clients', { as: await own.admin() })).body.map(
      (c: Json) => c.client_id,
    );
    expect(left).toEqual(expect.arrayContaining([used.client_id, made.client_id]));
    expect(left).not.toContain(unused.client_id);
  });

  it.each<[string, unknown, string]>([
    ['a list', [], 'The client metadata must be an object.'],
    ['null', null, 'The client metadata must be an object.'],
    ['a text', '"x"', 'The client metadata must be an object.'],
    [
      'an unknown method',
      { token_endpoint_auth_method: 'client_secret_jwt' },
      "token_endpoint_auth_method must be one of 'none', 'client_secret_basic', 'client_secret_post', " +
        "'private_key_jwt'.",
    ],
    ['a number as name', { client_name: 7 }, 'client_name must be a string.'],
    ['an application type', { application_type: 'x' }, "application_type must be one of 'web', 'native'."],
    ['no redirect URI', { redirect_uris: [] }, 'redirect_uris must not be empty.'],
    [
      'a relative redirect URI',
      { redirect_uris: ['https://a.example/', 'x'] },
      'redirect_uris.1 must be an absolute URI.',
    ],
    ['another response type', { response_types: ['token'] }, 'response_types may contain only code.'],
    [
      'other grant types',
      { grant_types: ['password'] },
      'grant_types must contain authorization_code, refresh_token or a grant of devices or JWTs.',
    ],
    [
      'a method without keys',
      { token_endpoint_auth_method: 'private_key_jwt' },
      'private_key_jwt requires either jwks or jwks_uri.',
    ],
    [
      'keys without a key',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } },
      'jwks.keys must not be empty.',
    ],
  ])('[RFC 7591 3.2.2] the description of an error for %s is a sentence', async (_what, metadata, sentence) => {
    const isObject = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
    const body = isObject ? { redirect_uris: ['https://app.example/callback'], ...metadata } : metadata;
    const r = await t.call('POST', '/oauth/register', { body });
    expect([r.status, r.body.error_description]).toEqual([400, sentence]);
    expect(r.body.error).toMatch(/^invalid_(client_metadata|redirect_uri)$/);
  });
});

describe('self-registered clients', () => {
  const idsOf = async (own: TestService) =>
    (await own.call('GET', '/oauth/clients?limit=100', { as: await own.admin() })).body.map((c: Json) => c.client_id);

  it('[ASVS 5.0 10.4.7] only the newest unused self-registered clients are kept, and every other client', async () => {
    const own = await createTestService({ config: { mcp: { unusedClients: 3 } } });
    const made = (
      await own.call('POST', '/oauth/clients', { as: await own.admin(), body: { redirect_uris: [CALLBACK] } })
    ).body;
    const used = await register(own);
    expect((await consent(own, await signUp(own), ask(used))).status).toBe(303);
    const unused: string[] = [];
    for (let i = 0; i < 5; i++) {
      own.clock.advance(1);
      unused.push((await register(own)).client_id);
    }
    expect(new Set(await idsOf(own))).toEqual(new Set([made.client_id, used.client_id, ...unused.slice(2)]));
    await Promise.all(Array.from({ length: 10 }, () => register(own)));
    expect(await idsOf(own)).toHaveLength(5);
  });

  it('[ASVS 5.0 10.4.7] a registration is at most 8 KB', async () => {
    const body = (chars: number) => ({ redirect_uris: [CALLBACK], client_name: 'x', other: 'y'.repeat(chars) });
    expect((await post(body(8000))).status).toBe(201);
    const r = await post(body(8192));
    expect([r.status, r.body.error]).toEqual([413, 'invalid_request']);
  });
});

describe('mcp.registration', () => {
  it('[RFC 7591 3] registration by token accepts the initial access token or an admin, no others', async () => {
    const registrationToken = 'an initial access token';
    const own = await createTestService({ config: { mcp: { registration: 'token', registrationToken } } });
    const body = { redirect_uris: [CALLBACK] };
    expect((await own.call('POST', '/oauth/register', { body, as: registrationToken })).status).toBe(201);
    expect((await own.call('POST', '/oauth/register', { body, as: await own.admin() })).status).toBe(201);
    const anonymous = await own.call('POST', '/oauth/register', { body });
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect((await own.call('POST', '/oauth/register', { body, as: 'another token' })).status).toBe(401);
    expect((await own.call('POST', '/oauth/register', { body, as: await own.user() })).status).toBe(403);
    expect((await own.call('GET', '/.well-known/oauth-authorization-server')).body).toHaveProperty(
      'registration_endpoint',
    );
  });

  it('closed: refuses every registration and is not in the metadata; admins create clients', async () => {
    const own = await createTestService({ config: { mcp: { registration: 'closed' } } });
    const r = await own.call('POST', '/oauth/register', { body: { redirect_uris: [CALLBACK] } });
    expect([r.status, r.body.error]).toEqual([403, 'access_denied']);
    expect((await own.call('GET', '/.well-known/oauth-authorization-server')).body).not.toHaveProperty(
      'registration_endpoint',
    );
    expect(
      (await own.call('POST', '/oauth/clients', { as: await own.admin(), body: { redirect_uris: [CALLBACK] } })).status,
    ).toBe(201);
  });
});

describe('/oauth/clients', () => {
  it('lets administrators create, list, read and delete clients, and shows the secret once', async () => {
    const admin = await t.admin();
    const made = await t.call('POST', '/oauth/clients', {
      as: admin,
      body: { redirect_uris: [CALLBACK], client_name: 'Vouched', token_endpoint_auth_method: 'client_secret_basic' },
    });
    expect(made.status).toBe(201);
    expect(made.body.client_secret).toMatch(/^lgc_/);
    const path = `/oauth/clients/${made.body.client_id}`;
    const read = await t.call('GET', path, { as: admin });
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject({
      client_id: made.body.client_id,
      client_name: 'Vouched',
      origin: 'admin',
      last_used_at: null,
    });
    expect(read.text).not.toContain(made.body.client_secret);
    expect(read.body).not.toHaveProperty('secret_hash');
    const page = await t.call('GET', '/oauth/clients?limit=1', { as: admin });
    expect(page.body).toHaveLength(1);
    expect(page.headers.get('link')).toContain('rel="next"');
    expect((await t.call('DELETE', path, { as: admin })).status).toBe(204);
    expect((await t.call('GET', path, { as: admin })).status).toBe(404);
    expect((await t.call('DELETE', path, { as: admin })).status).toBe(404);
  });

  it('returns 404 for an unknown id, 400 for invalid metadata, 401 and 403 for other callers', async () => {
    const admin = await t.admin();
    for (const id of ['cli_x', 'usr_1', '%00', 'x'.repeat(3000)])
      expect((await t.call('GET', `/oauth/clients/${id}`, { as: admin })).status, id).toBe(404);
    const bad = await t.call('POST', '/oauth/clients', { as: admin, body: { redirect_uris: ['javascript:x'] } });
    expect(bad.status).toBe(400);
    const client = await register(t);
    const alice = await t.user();
    const agent = await t.agent(alice);
    for (const [method, path] of [
      ['GET', '/oauth/clients'],
      ['POST', '/oauth/clients'],
      ['GET', `/oauth/clients/${client.client_id}`],
      ['DELETE', `/oauth/clients/${client.client_id}`],
    ] as const) {
      expect((await t.call(method, path)).status).toBe(401);
      expect((await t.call(method, path, { as: alice })).status).toBe(403);
      expect((await t.call(method, path, { as: agent })).status).toBe(403);
    }
  });
});
