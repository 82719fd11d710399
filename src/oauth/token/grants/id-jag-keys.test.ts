import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { beforeAll, expect, it } from 'vitest';
import { openIssuer, type TestIssuer } from '../../../../test/support/issuer.ts';
import { claimsOf, form, registerVouched } from '../../../../test/support/oauth.ts';
import { refusalLog } from '../../../../test/support/refusal-log.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../test/support/service.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const { log, lastReason } = refusalLog();

let t: TestService;
let company: TestIssuer;
let host: TestIssuer;
let person: TestUser;
let privateKey: CryptoKey;
let jwk: JWK;

beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    log,
    config: { federation: { allowPrivateNetworks: true }, mcp: { allowPrivateNetworks: true } },
  });
  [company, host] = [await openIssuer(), await openIssuer()];
  const admin = await t.admin();
  const body = { name: 'company', issuer: company.address, uses: ['enterprise'], domains: ['example.com'] };
  expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
  person = await t.user();
  const pair = await generateKeyPair('ES256', { extractable: true });
  privateKey = pair.privateKey;
  jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one' };
});

const times = (): Json => {
  const iat = Math.floor(t.clock.now() / 1000);
  return { iat, exp: iat + 300, jti: crypto.randomUUID() };
};
const jag = (clientId: string, typ = 'oauth-id-jag+jwt'): Promise<string> =>
  company.sign(
    {
      ...times(),
      sub: 'employee',
      aud: t.legate.platform.issuer,
      client_id: clientId,
      email: person.email,
      email_verified: true,
    },
    { typ },
  );
const proof = async (clientId: string, typ = 'JWT'): Promise<Record<string, string>> => ({
  client_assertion_type: ASSERTION,
  client_assertion: await new SignJWT({ ...times(), iss: clientId, sub: clientId, aud: t.legate.platform.issuer })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ })
    .sign(privateKey),
});
const show = (assertion: string, by: Record<string, string>) =>
  form(t, '/oauth/token', { grant_type: GRANT, assertion, ...by });

/** Shows ID-JAGs of a client that has a key, with and without the proof of the key. */
async function exchanged(id: string): Promise<void> {
  const assertion = await jag(id);
  const unproved = await show(assertion, { client_id: id });
  expect([unproved.status, unproved.body.error, lastReason()]).toEqual([
    401,
    'invalid_client',
    'client-assertion-missing',
  ]);
  const r = await show(assertion, await proof(id));
  expect(r.status, r.text).toBe(200);
  expect(claimsOf(r.body.access_token)).toMatchObject({ user_id: person.id, client_id: id });
  expect((await t.legate.mcp.validateToken(r.body.access_token)).valid).toBe(true);
  const again = await proof(id);
  expect((await show(await jag(id), again)).status).toBe(200);
  expect((await show(await jag(id), again)).status).toBe(401);
  expect(lastReason()).toBe('assertion-reused');
}

it('[RFC 7523 2.2] a registered client with an ID-JAG authenticates by its key', async () => {
  const { client_id } = await registerVouched(t, {
    redirect_uris: [],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
  });
  await exchanged(client_id);
});

it('[RFC 7523 2.2] a client with a metadata document and an ID-JAG authenticates by its key', async () => {
  const id = `${host.address}/client.json`;
  host.documents['/client.json'] = {
    client_id: id,
    client_name: 'Assistant',
    redirect_uris: ['https://app.example/callback'],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
  };
  await exchanged(id);
  const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
  expect(grant).toMatchObject({ kind: 'id_jag', clientId: id, clientName: 'Assistant' });
  const other = `${host.address}/other.json`;
  host.documents['/other.json'] = { ...(host.documents['/client.json'] as Json), client_id: other };
  expect((await show(await jag(id), await proof(other))).body.error).toBe('invalid_grant');
  expect(lastReason()).toBe('assertion-of-another-client');
});

it('[RFC 7515 4.1.9] a typ may be the whole media type', async () => {
  const { client_id } = await registerVouched(t, {
    redirect_uris: [],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
  });
  const assertion = await jag(client_id, 'application/oauth-id-jag+jwt');
  const r = await show(assertion, await proof(client_id, 'application/client-authentication+jwt'));
  expect(r.status, r.text).toBe(200);
  expect((await show(await jag(client_id), await proof(client_id, 'application/at+jwt'))).status).toBe(401);
  expect((await show(await jag(client_id), await proof(client_id, 'text/jwt'))).status).toBe(401);
});
