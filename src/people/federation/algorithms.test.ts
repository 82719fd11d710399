import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { openIssuer, type TestIssuer } from '../../../test/support/issuer.ts';
import { claimsOf, form } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { ISSUER_ALGORITHMS } from './schema.ts';

let t: TestService;
let issuers = 0;

beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { federation: { allowPrivateNetworks: true } } });
});

const claims = (subject: string): Json => {
  const iat = Math.floor(t.clock.now() / 1000);
  return { sub: subject, aud: t.legate.baseUrl, iat, exp: iat + 300, jti: crypto.randomUUID() };
};

/** Creates an agent that trusts tokens of an issuer for a subject. */
async function trusting({ address }: TestIssuer, algorithms: readonly string[], subject = 'job:1') {
  const [admin, owner] = [await t.admin(), await t.user()];
  const issuer = { name: `issuer-${++issuers}`, issuer: address, uses: ['workload'], algorithms };
  expect((await t.call('POST', '/issuers', { as: admin, body: issuer })).status).toBe(201);
  const agent = await t.agent(owner);
  const trust = { issuer: address, subject };
  expect((await t.call('POST', `/agents/${agent.id}/trust`, { as: owner, body: trust })).status).toBe(201);
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  return { agent, show: (assertion: string) => form(t, '/oauth/token', { grant_type, assertion }) };
}

/** The same token with one bit of its signature changed. */
function withOtherSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  bytes[bytes.length - 9] = (bytes[bytes.length - 9] as number) ^ 1;
  return `${header}.${payload}.${bytes.toString('base64url')}`;
}

it.each(ISSUER_ALGORITHMS)('[RFC 7518 3.1] %s: a signature of the key is accepted, and no other', async (alg) => {
  const issuer = await openIssuer(alg);
  const { agent, show } = await trusting(issuer, [alg]);
  const token = await issuer.sign(claims('job:1'));
  expect((await show(withOtherSignature(token))).body.error).toBe('invalid_grant');
  const [header, , signature] = token.split('.');
  const [, payload] = (await issuer.sign(claims('job:1'))).split('.');
  expect((await show(`${header}.${payload}.${signature}`)).body.error).toBe('invalid_grant');
  const r = await show(token);
  expect([r.status, claimsOf(r.body.access_token).sub]).toEqual([200, agent.id]);
});

it('[RFC 8725 3.1] an algorithm for which the issuer is not registered is refused, even with a known key', async () => {
  const issuer = await openIssuer('PS256');
  const { show } = await trusting(issuer, ['RS256', 'ES256']);
  expect((await show(await issuer.sign(claims('job:1')))).body.error).toBe('invalid_grant');
});

it('[RFC 7515 4.1.11] a critical extension is refused, even the one that leaves the payload unchanged', async () => {
  const issuer = await openIssuer();
  const { show } = await trusting(issuer, ['ES256']);
  const signed = await issuer.sign(claims('job:1'), { crit: ['b64'], b64: true });
  expect((await show(signed)).body.error).toBe('invalid_grant');
  expect((await show(await issuer.sign(claims('job:1')))).status).toBe(200);
});

it('[RFC 7518 3.3] an RSA key with fewer than 2048 bits is refused', async () => {
  const issuer = await openIssuer('RS256');
  const { show } = await trusting(issuer, ['RS256']);
  for (const [modulusLength, status] of [
    [1024, 400],
    [2048, 200],
  ] as const) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
    const kid = `rsa-${modulusLength}`;
    issuer.documents['/jwks'] = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] };
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${encode({ alg: 'RS256', kid })}.${encode({ iss: issuer.address, ...claims('job:1') })}`;
    const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url');
    t.clock.advance(30_000);
    expect((await show(`${input}.${signature}`)).status, kid).toBe(status);
  }
});

it('an RSA key with a huge exponent, or more bits than can be verified, is refused without effort', async () => {
  const issuer = await openIssuer('RS256');
  const { show } = await trusting(issuer, ['RS256']);
  for (const [modulus, exponent] of [
    [256, 90_000],
    [256, 9],
    [4096, 3],
  ] as const) {
    const kid = `rsa-${modulus}-${exponent}`;
    const [n, e] = [modulus, exponent].map((bytes) => Buffer.alloc(bytes, 255).toString('base64url'));
    issuer.documents['/jwks'] = { keys: [{ kty: 'RSA', n, e, kid, alg: 'RS256' }] };
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${encode({ alg: 'RS256', kid })}.${encode({ iss: issuer.address, ...claims('job:1') })}`;
    t.clock.advance(30_000);
    const used = cpuTimer();
    expect((await show(`${input}.${'A'.repeat(342)}`)).body.error, kid).toBe('invalid_grant');
    expect(used(), kid).toBeLessThan(500);
  }
});
