import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { openIssuer, type TestIssuer } from '../../../test/support/issuer.ts';
import { ask, claimsOf, code, form, register, signUp } from '../../../test/support/oauth.ts';
import { refusalLog } from '../../../test/support/refusal-log.ts';
import {
  type Answered,
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

const { log, logged, lastReason } = refusalLog();
const config = {
  mcp: { allowPrivateNetworks: true, signing: 'EdDSA', signingSecret: 'the same secret for all instances' },
} as const;

let t: TestService;
let owner: TestUser;
let privateKey: CryptoKey;
let publicKey: CryptoKey;
let jwk: JWK;
let host: TestIssuer;

beforeAll(async () => {
  t = await createTestService({ lasting: true, log, config });
  t.clock.set(new Date().toISOString());
  [owner, host] = [await t.user(), await openIssuer()];
  ({ privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true }));
  jwk = { ...(await exportJWK(publicKey)), kid: 'one' };
});

const seconds = () => Math.floor(t.clock.now() / 1000);
const claims = (id: string, more: Json = {}): Json => ({
  iss: id,
  sub: id,
  aud: t.legate.platform.issuer,
  iat: seconds(),
  exp: seconds() + 60,
  jti: crypto.randomUUID(),
  ...more,
});
const sign = (payload: Json, header: Json = {}): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(privateKey);
const proof = async (id: string, more: Json = {}, header: Json = {}): Promise<Record<string, string>> => ({
  client_assertion_type: TYPE,
  client_assertion: await sign(claims(id, more), header),
});
const keyClient = (more: Json = {}) =>
  register(t, { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] }, ...more });
const ownToken = (fields: Record<string, string>, at = t): Promise<Answered> =>
  form(at, '/oauth/token', { grant_type: 'client_credentials', ...fields });

async function keyAgent(keys: Json = { jwks: { keys: [jwk] } }): Promise<TestAgent> {
  const agent = await t.agent(owner, { type: 'service' });
  const r = await t.call('PUT', `/agents/${agent.id}/keys`, { as: owner, body: keys });
  expect(r.status, r.text).toBe(200);
  return agent;
}

describe('a client with a key', () => {
  it('[RFC 7523 2.2; RFC 7591 2; RFC 8414 2] an independent client authenticates by key at each endpoint', async () => {
    const issuer = new URL(t.legate.platform.issuer);
    const toUs = {
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: (url: string, init: object) => t.legate.fetch(new Request(url, init as RequestInit)),
    } as const;
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...toUs, algorithm: 'oauth2' }),
    );
    for (const endpoint of ['token', 'revocation', 'introspection'] as const) {
      expect(as[`${endpoint}_endpoint_auth_methods_supported`]).toContain('private_key_jwt');
      const algorithms = as[`${endpoint}_endpoint_auth_signing_alg_values_supported`];
      expect(algorithms).toEqual(expect.arrayContaining(['ES256', 'RS256', 'EdDSA']));
      expect(algorithms?.filter((alg) => /^HS|none/.test(alg))).toEqual([]);
    }
    const registered = await keyClient({ grant_types: ['authorization_code', 'refresh_token', DEVICE] });
    expect(registered).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } });
    expect(registered['client_secret']).toBeUndefined();
    const client = { client_id: registered.client_id as string };
    const auth = oauth.PrivateKeyJwt({ key: privateKey, kid: 'one' });
    const person = await signUp(t);
    const asked = ask(registered);
    const answer = oauth.validateAuthResponse(
      as,
      client,
      new URLSearchParams({ code: await code(t, person, asked), iss: as.issuer, state: 'x' }),
      'x',
    );
    const redirect = asked.query['redirect_uri'] as string;
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, auth, answer, redirect, asked.verifier, toUs),
    );
    const refreshed = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token as string, toUs),
    );
    const seen = await oauth.processIntrospectionResponse(
      as,
      client,
      await oauth.introspectionRequest(as, client, auth, refreshed.access_token, toUs),
    );
    expect(seen.active).toBe(true);
    const device = await oauth.processDeviceAuthorizationResponse(
      as,
      client,
      await oauth.deviceAuthorizationRequest(as, client, auth, { scope: 'mcp:read' }, toUs),
    );
    expect(device.user_code).toMatch(/\w/);
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, client, auth, refreshed.access_token, toUs),
    );
    expect((await t.legate.mcp.validateToken(refreshed.access_token)).valid).toBe(false);
  });

  it('[RFC 9864 2.2] an independent client authenticates with an Ed25519 key, named by its curve', async () => {
    const key = await generateKeyPair('Ed25519', { extractable: true });
    const client = await keyClient({ jwks: { keys: [await exportJWK(key.publicKey)] } });
    const { issuer } = t.legate.platform;
    const as = { issuer, introspection_endpoint: `${issuer}/oauth/introspect` };
    const response = await oauth.introspectionRequest(as, client, oauth.PrivateKeyJwt(key.privateKey), 'x', {
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: (url: string, init: object) => t.legate.fetch(new Request(url, init as RequestInit)),
    });
    expect(await oauth.processIntrospectionResponse(as, client, response)).toEqual({ active: false });
  });

  it.each([
    ['revoke', { token: 'x' }, 200],
    ['introspect', { token: 'x' }, 200],
    ['device_authorization', {}, 200],
    ['token', { grant_type: 'refresh_token', refresh_token: 'x' }, 400],
  ] as const)(
    '[RFC 7523 3] an assertion at the endpoint %s may be for it, the token endpoint or the issuer',
    async (name, fields, status) => {
      const { client_id } = await keyClient({ grant_types: ['refresh_token', DEVICE] });
      const own = ['/api/legate/oauth/', '/api/legate/mcp/', '/oauth/', '/mcp/'];
      const at = async (aud: unknown, path = '/oauth/') => {
        const r = await form(t, `${path}${name}`, { ...fields, ...(await proof(client_id, { aud })) });
        return [r.status, r.body.error];
      };
      const passed = [status, status === 200 ? undefined : 'invalid_grant'];
      const { baseUrl, issuer } = t.legate.platform;
      for (const path of own) {
        expect(await at(`${baseUrl}${path}${name}`, path)).toEqual(passed);
        expect(await at(`${baseUrl}${path}token`)).toEqual(passed);
      }
      expect(await at([issuer, `${baseUrl}/oauth/${name}`])).toEqual(passed);
      const others = ['revoke', 'introspect', 'device_authorization'].filter((other) => other !== name);
      for (const aud of [
        ...others.map((other) => `${baseUrl}/oauth/${other}`),
        `${baseUrl}/oauth/${name}/`,
        `${baseUrl}/oauth/${name}?x=1`,
        `${baseUrl.toUpperCase()}/oauth/${name}`,
        `${baseUrl}/${name}`,
        [`${baseUrl}/oauth/${name}`, 'https://other.example'],
      ].filter((aud) => aud !== `${baseUrl}/token`)) {
        expect(await at(aud), String(aud)).toEqual([401, 'invalid_client']);
        expect(lastReason()).toBe('assertion-audience');
      }
    },
  );

  it('is refused without an assertion, with a secret, and with more than one way to authenticate', async () => {
    const { client_id } = await keyClient();
    const at = (fields: Record<string, string>, headers = {}) =>
      form(t, '/oauth/revoke', { token: 'x', ...fields }, headers);
    expect((await at({ client_id })).status).toBe(401);
    expect(lastReason()).toBe('client-assertion-missing');
    expect((await at({ client_id, client_secret: 'x' })).status).toBe(401);
    const fields = await proof(client_id);
    expect((await at({ ...fields, client_secret: 'x' })).body.error).toBe('invalid_request');
    const authorization = `Basic ${Buffer.from(`${client_id}:x`).toString('base64')}`;
    expect((await at(fields, { authorization })).body.error).toBe('invalid_request');
    expect((await at({ ...fields, client_assertion_type: 'other' })).body.error).toBe('invalid_request');
    expect((await at({ client_id, client_assertion_type: TYPE })).body.error).toBe('invalid_request');
    expect((await at({ client_assertion_type: TYPE, client_assertion: 'none' })).body.error).toBe('invalid_client');
    // None of these requests used up the assertion.
    expect((await at(fields)).status).toBe(200);
    const secret = await register(t, { token_endpoint_auth_method: 'client_secret_post' });
    expect((await at(await proof(secret.client_id))).status).toBe(401);
    expect(lastReason()).toBe('client-assertion-unexpected');
  });

  it.each<[string, Json]>([
    ['neither jwks nor jwks_uri', { jwks: undefined }],
    ['both', { jwks_uri: 'https://app.example/jwks' }],
    ['a private key', { jwks: { keys: [{ kty: 'EC', d: 'x' }] } }],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }],
    ['no key', { jwks: { keys: [] } }],
    ['eleven keys', { jwks: { keys: Array.from({ length: 11 }, () => ({ kty: 'EC' })) } }],
    ['a file URL as address', { jwks: undefined, jwks_uri: 'file:///etc/passwd' }],
    ['a symmetric algorithm', { token_endpoint_auth_signing_alg: 'HS256' }],
  ])('[RFC 7591 2] a client with a key is not registered with %s', async (_what, more) => {
    const body = { redirect_uris: ['https://app.example/'], token_endpoint_auth_method: 'private_key_jwt' };
    const r = await t.call('POST', '/oauth/register', { body: { ...body, jwks: { keys: [jwk] }, ...more } });
    expect([r.status, r.body.error]).toEqual([400, 'invalid_client_metadata']);
  });

  it('may register with the one algorithm that it uses', async () => {
    const { client_id } = await keyClient({ token_endpoint_auth_signing_alg: 'RS256' });
    const r = await form(t, '/oauth/revoke', { token: 'x', ...(await proof(client_id)) });
    expect([r.status, lastReason()]).toEqual([401, 'assertion-signature']);
  });

  it('may publish its keys at an address, which is fetched again for a new key, at most once in 30 s', async () => {
    const { client_id } = await keyClient({ jwks: undefined, jwks_uri: `${host.address}/jwks` });
    const show = async () => {
      const assertion = await host.sign(claims(client_id));
      const fields = { token: 'x', client_assertion_type: TYPE, client_assertion: assertion };
      return (await form(t, '/oauth/revoke', fields)).status;
    };
    expect([await show(), await show(), host.fetched.length]).toEqual([200, 200, 1]);
    await host.rotate();
    expect([await show(), host.fetched.length]).toEqual([401, 1]);
    t.clock.advance(30_000);
    expect([await show(), host.fetched.length]).toEqual([200, 2]);
    host.down = true;
    t.clock.advance(600_000);
    expect([await show(), lastReason()]).toEqual([401, 'assertion-keys-unavailable']);
    host.down = false;
  });

  it('may be described by a metadata document', async () => {
    const id = `${host.address}/client.json`;
    host.documents['/client.json'] = {
      client_id: id,
      redirect_uris: ['https://app.example/callback'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [jwk] },
    };
    const revoke = (fields: Record<string, string>) => form(t, '/oauth/revoke', { token: 'x', ...fields });
    expect((await revoke(await proof(id))).status).toBe(200);
    expect((await revoke({ client_id: id })).status).toBe(401);
  });
});

it('clients that registered themselves cannot keep keys of agents and other clients from being fetched', async () => {
  const keys = await openIssuer();
  const address = (name: string) => {
    keys.documents[`/${name}`] = { keys: [jwk] };
    return `${keys.address}/${name}`;
  };
  const metadata = (name: string) => ({
    redirect_uris: ['https://app.example/'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: address(name),
  });
  const revoke = async (id: string) => (await form(t, '/oauth/revoke', { token: 'x', ...(await proof(id)) })).status;
  const statuses = [];
  for (let i = 0; i < 31; i++) statuses.push(await revoke((await register(t, metadata(`stranger-${i}`))).client_id));
  expect(statuses.filter((status) => status === 401)).toHaveLength(1);
  const agent = await keyAgent({ jwksUri: address('agent') });
  const byAdmin = { as: await t.admin(), body: metadata('admin') };
  const { client_id } = (await t.call('POST', '/oauth/clients', byAdmin)).body;
  expect([await revoke(agent.id), await revoke(client_id)]).toEqual([200, 200]);
});

describe('an agent with a key', () => {
  it('[RFC 7523 2.2] an agent with a key gets an access token for itself without its agent token', async () => {
    const agent = await keyAgent();
    const metadata = (await t.call('GET', '/.well-known/oauth-authorization-server')).body;
    const r = await ownToken(await proof(agent.id, { aud: metadata.token_endpoint }));
    expect(r.status, r.text).toBe(200);
    expect((await ownToken(await proof(agent.id, { aud: `${t.legate.baseUrl}/oauth/token` }))).status).toBe(200);
    expect(claimsOf(r.body.access_token)).toMatchObject({ sub: agent.id, client_id: agent.id });
    const fields = { token: r.body.access_token, ...(await proof(agent.id)) };
    expect((await form(t, '/oauth/introspect', fields)).body).toMatchObject({ active: true, sub: agent.id });
    const called = await proof(agent.id, { aud: metadata.introspection_endpoint });
    expect((await form(t, '/oauth/introspect', { token: 'x', ...called })).status).toBe(200);
    const plain = await t.agent(owner);
    await t.call('PUT', `/agents/${plain.id}/keys`, { as: owner, body: { jwks: { keys: [jwk] } } });
    expect((await ownToken(await proof(plain.id))).body.error).toBe('unauthorized_client');
  });

  it.each<[string, Json, Json, string]>([
    ['another issuer', { iss: 'other' }, {}, 'assertion-malformed'],
    ['another subject', { sub: 'other' }, {}, 'client-id-mismatch'],
    ['another audience', { aud: 'https://other.example' }, {}, 'assertion-audience'],
    ['an additional audience', { aud: ['http://localhost:3000', 'https://other.example'] }, {}, 'assertion-audience'],
    ['no audience', { aud: undefined }, {}, 'assertion-malformed'],
    ['an expiry in the past', { exp: -61 }, {}, 'assertion-expired'],
    ['an expiry in more than an hour', { exp: 3662 }, {}, 'assertion-lifetime'],
    ['no expiry', { exp: undefined }, {}, 'assertion-malformed'],
    ['a start in the future', { nbf: 62 }, {}, 'assertion-expired'],
    ['the type of an access token', {}, { typ: 'at+jwt' }, 'assertion-malformed'],
    ['an unknown key', {}, { kid: 'two' }, 'assertion-signature'],
  ])('[RFC 7523 3] an agent with a key is refused an assertion with %s', async (_what, changes, header, reason) => {
    const agent = await keyAgent();
    const at = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, typeof value === 'number' ? seconds() + value : value]),
    );
    const r = await ownToken({ client_id: agent.id, ...(await proof(agent.id, at, header)) });
    expect([r.status, r.body.error, lastReason()]).toEqual([401, 'invalid_client', reason]);
    expect(JSON.stringify(logged.at(-1))).not.toContain('eyJ');
  });

  it("[RFC 8725 3.1] an assertion without a signature of the client's own key is refused", async () => {
    const agent = await keyAgent();
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hmac = await new SignJWT(claims(agent.id))
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.from(JSON.stringify(jwk)));
    const other = await generateKeyPair('ES256');
    const forged = [
      `${encode({ alg: 'none' })}.${encode(claims(agent.id))}.`,
      hmac,
      await new SignJWT(claims(agent.id)).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(other.privateKey),
      await new SignJWT(claims(agent.id))
        .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK(other.publicKey) })
        .sign(other.privateKey),
    ];
    for (const client_assertion of forged)
      expect((await ownToken({ client_assertion_type: TYPE, client_assertion })).status).toBe(401);
  });

  it('[RFC 7523 3] an assertion of an agent can be used once, also concurrently on several instances', async () => {
    const agent = await keyAgent();
    const instances = [t, ...(dialect === 'postgres' ? [await createTestService({ config, sameDatabaseAs: t })] : [])];
    for (const more of [{}, { jti: undefined }]) {
      const fields = await proof(agent.id, { ...more, exp: seconds() + 90 });
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => ownToken(fields, instances[i % instances.length])),
      );
      expect(answers.map((r) => r.status).sort()).toEqual([200, 401, 401, 401, 401, 401]);
      expect((await ownToken(fields)).status).toBe(401);
      expect(lastReason()).toBe('assertion-reused');
    }
  });

  it('has keys of at most 64 KB together, which each of its requests reads', async () => {
    const agent = await keyAgent();
    const put = (bytes: number) => {
      const body = { jwks: { keys: [{ ...jwk, x5c: ['A'.repeat(bytes)] }] } };
      return t.call('PUT', `/agents/${agent.id}/keys`, { as: owner, body });
    };
    expect([(await put(60_000)).status, (await put(66_000)).status]).toEqual([200, 413]);
  });

  it('loses the tokens that it got when its keys change, and cannot act once it is revoked', async () => {
    const agent = await keyAgent();
    const path = `/agents/${agent.id}/keys`;
    const get = async () => (await ownToken(await proof(agent.id))).body.access_token as string;
    const valid = async (token: string) => (await t.legate.mcp.validateToken(token)).valid;
    const token = await get();
    const same = await t.call('PUT', path, { as: owner, body: { jwks: { keys: [jwk] } } });
    expect([same.status, await valid(token)]).toEqual([200, true]);
    const other = { jwks: { keys: [{ ...jwk, kid: 'two' }] } };
    expect((await t.call('PUT', path, { as: owner, body: other })).body.jwks).toEqual(other.jwks);
    expect([await valid(token), await get()]).toEqual([false, undefined]);
    await t.call('PUT', path, { as: owner, body: { jwks: { keys: [jwk] } } });
    const again = await get();
    expect((await t.call('GET', path, { as: owner })).body.jwks).toEqual({ keys: [jwk] });
    expect((await t.call('DELETE', path, { as: owner })).status).toBe(204);
    expect([await valid(again), await get()]).toEqual([false, undefined]);
    for (const method of ['GET', 'DELETE'])
      expect((await t.call(method, path, { as: owner })).body.error.code).toBe('AGENT_KEYS_NOT_FOUND');
    await t.call('PUT', path, { as: owner, body: { jwks: { keys: [jwk] } } });
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect(await get()).toBeUndefined();
    expect((await t.call('PUT', path, { as: owner, body: other })).status).toBe(409);
  });

  it('has keys that only callers who may change the agent can see and set', async () => {
    const agent = await keyAgent();
    const path = `/agents/${agent.id}/keys`;
    const [stranger, body] = [await t.user(), { jwks: { keys: [jwk] } }];
    expect((await t.call('GET', path, { as: stranger })).status).toBe(404);
    expect((await t.call('PUT', path, { as: stranger, body })).status).toBe(404);
    expect((await t.call('PUT', path, { as: agent, body })).status).toBe(403);
    for (const wrong of [{}, { ...body, jwksUri: 'https://a.example/' }, { jwksUri: 'x' }, { jwks: { keys: [{}] } }])
      expect((await t.call('PUT', path, { as: owner, body: wrong })).status).toBe(400);
  });
});
