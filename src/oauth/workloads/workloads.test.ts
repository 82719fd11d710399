import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openIssuer, type TestIssuer } from '../../../test/support/issuer.ts';
import { claimsOf, form } from '../../../test/support/oauth.ts';
import { refusalLog } from '../../../test/support/refusal-log.ts';
import {
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';
const permissions = [
  { resource: 'db:*', actions: ['read'] },
  { resource: 'legate:authorize', actions: ['check'] },
];

const { log, logged, lastReason } = refusalLog();
const config = {
  federation: { allowPrivateNetworks: true },
  mcp: { signingSecret: 'the same secret for all instances', extraScopes: ['authorize'] },
};

let t: TestService;
let admin: TestUser;
let owner: TestUser;
let platform: TestIssuer;
let registered = 0;

beforeAll(async () => {
  t = await createTestService({ lasting: true, log, config });
  [admin, owner, platform] = [await t.admin(), await t.user(), await openIssuer()];
  await registerIssuer(platform);
});

async function registerIssuer({ address }: TestIssuer, more: Json = {}): Promise<Json> {
  const body = { name: `platform-${++registered}`, issuer: address, uses: ['workload'], ...more };
  const r = await t.call('POST', '/issuers', { as: admin, body });
  expect(r.status).toBe(201);
  return r.body;
}

const trusts = (agent: TestAgent, more: Json = {}, as: TestUser = owner) =>
  t.call('POST', `/agents/${agent.id}/trust`, { as, body: { issuer: platform.address, subject: SUBJECT, ...more } });

async function trusting(more: Json = {}): Promise<TestAgent> {
  const agent = await t.agent(owner, { permissions });
  expect((await trusts(agent, more)).status).toBe(201);
  return agent;
}

let subjects = 0;
const newSubject = () => `job:${++subjects}`;
const seconds = () => Math.floor(t.clock.now() / 1000);
const claims = (more: Json = {}): Json => ({
  sub: SUBJECT,
  aud: t.legate.baseUrl,
  iat: seconds(),
  exp: seconds() + 300,
  jti: crypto.randomUUID(),
  ...more,
});
const show = (assertion: string, more: Record<string, string> = {}, at = t) =>
  form(at, '/oauth/token', { grant_type: GRANT, assertion, ...more });

describe('a workload', () => {
  it('[RFC 7523 2.1; RFC 7523 3] a workload exchanges the token of its platform for one of the agent', async () => {
    const sub = newSubject();
    const agent = await trusting({ subject: sub });
    const r = await show(await platform.sign(claims({ sub })));
    expect(r.status, r.text).toBe(200);
    expect(Object.keys(r.body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
    expect(r.body).toMatchObject({ expires_in: 3600, scope: 'mcp:read mcp:execute' });
    expect(claimsOf(r.body.access_token)).toMatchObject({ sub: agent.id, user_id: owner.id, client_id: agent.id });
    const [{ actor }] = (await t.call('GET', '/changes?type=grant.created&limit=1', { as: admin })).body;
    expect(actor).toMatchObject({ kind: 'agent', id: agent.id, workload: { issuer: platform.address, subject: sub } });
    const listed = (await t.call('GET', '/oauth/grants?limit=1000', { as: owner })).body;
    const grant = listed.find(({ agentId }: Json) => agentId === agent.id);
    expect(grant).toMatchObject({ kind: 'jwt_bearer', userId: owner.id, clientId: agent.id });
    expect((await t.call('GET', `/oauth/grants/${grant.id}`, { as: owner })).body).toEqual(grant);
  });

  it('[RFC 7523 3] the token of a platform may have any address of the token endpoint as audience', async () => {
    const sub = newSubject();
    await trusting({ subject: sub });
    const paths = ['/oauth/token', '/mcp/token', '/token', '/api/legate/oauth/token', '/api/legate/mcp/token'];
    const status = async (path: string) =>
      (await show(await platform.sign(claims({ sub, aud: `${t.legate.baseUrl}${path}` })))).status;
    expect(await Promise.all(paths.map(status))).toEqual(paths.map(() => 200));
    expect(await Promise.all(['/', '/oauth/revoke', '/oauth/token/'].map(status))).toEqual([400, 400, 400]);
  });

  it('is named in the audit entries of its decisions', async () => {
    const sub = newSubject();
    const agent = await trusting({ subject: sub });
    const { access_token } = (await show(await platform.sign(claims({ sub })), { scope: 'authorize' })).body;
    const decided = await t.call('POST', '/authorize', {
      as: access_token,
      body: { action: 'read', resource: 'db:x' },
    });
    expect(decided.body.allowed, decided.text).toBe(true);
    const entry = (await t.call('GET', `/audit/${decided.body.auditId}`, { as: admin })).body;
    expect(entry).toMatchObject({
      agentId: agent.id,
      askedBy: { kind: 'accessToken', workload: { issuer: platform.address, subject: sub } },
    });
  });

  it('gets a token for at most an hour, for the resource and scope that it requests', async () => {
    const own = await createTestService({
      config: { federation: config.federation, mcp: { accessTokenTtl: 86_400 } },
    });
    const [as, someone] = [await own.admin(), await own.user()];
    const issuer = { name: 'platform', issuer: platform.address, uses: ['workload'] };
    await own.call('POST', '/issuers', { as, body: issuer });
    const endpoint = 'https://notes.example/mcp';
    await own.call('POST', '/mcp/servers', { as, body: { name: 'notes', endpoint, tools: ['search'] } });
    const agent = await own.agent(someone);
    await own.call('POST', `/agents/${agent.id}/trust`, {
      as: someone,
      body: { issuer: platform.address, subject: SUBJECT },
    });
    const assertion = () => platform.sign(claims({ aud: own.legate.baseUrl }));
    const r = await show(await assertion(), { resource: endpoint, scope: 'mcp:read' }, own);
    expect(r.body).toMatchObject({ expires_in: 3600, scope: 'mcp:read' });
    expect((await own.legate.mcp.validateToken(r.body.access_token, { audience: endpoint })).valid).toBe(true);
    const unknown = await show(await assertion(), { resource: 'https://unknown.example' }, own);
    expect(unknown.body.error).toBe('invalid_target');
    expect((await show(await assertion(), { scope: 'agents:write' }, own)).body.error).toBe('invalid_scope');
  });

  it('[RFC 7523 3] the token of a platform can be used once, also concurrently on several instances', async () => {
    const instances = [t, ...(dialect === 'postgres' ? [await createTestService({ config, sameDatabaseAs: t })] : [])];
    for (const more of [{}, { jti: undefined }]) {
      const sub = newSubject();
      await trusting({ subject: sub });
      const assertion = await platform.sign(claims({ sub, ...more }));
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => show(assertion, {}, instances[i % instances.length])),
      );
      expect(answers.map((r) => r.status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 400)]);
      expect((await show(assertion)).body.error).toBe('invalid_grant');
      expect(lastReason()).toBe('assertion-reused');
    }
  });

  it.each<[string, Json, Json, string]>([
    ['expired more than a minute ago', { exp: -61 }, {}, 'assertion-expired'],
    ['becomes valid only in more than a minute', { nbf: 62 }, {}, 'assertion-expired'],
    ['is issued more than a minute in the future', { iat: 62 }, {}, 'assertion-expired'],
    ['does not expire', { exp: undefined }, {}, 'assertion-malformed'],
    ['has no subject', { sub: undefined }, {}, 'assertion-malformed'],
    ['has no audience', { aud: undefined }, {}, 'assertion-malformed'],
    ['is for someone else', { aud: 'https://other.example' }, {}, 'assertion-audience'],
    ['is of another subject', { sub: `${SUBJECT}x` }, {}, 'workload-untrusted'],
    ['is of an unknown issuer', { iss: 'https://unknown.example' }, {}, 'assertion-issuer'],
    ['is an access token', {}, { typ: 'at+jwt' }, 'assertion-malformed'],
    ['is a logout token', {}, { typ: 'logout+jwt' }, 'assertion-malformed'],
    ['has a typ that is not a string', {}, { typ: 5 }, 'assertion-malformed'],
    ['names an unknown key', {}, { kid: 'unknown' }, 'assertion-signature'],
  ])('[RFC 7523 3; RFC 8725 3] the token of a platform is refused if it %s', async (_what, changes, header, reason) => {
    await trusting();
    const at = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, typeof value === 'number' ? seconds() + value : value]),
    );
    const r = await show(await platform.sign(claims(at), header));
    expect([r.status, r.body.error, lastReason()]).toEqual([400, 'invalid_grant', reason]);
    expect(JSON.stringify(logged.at(-1))).not.toContain('eyJ');
  });

  it('[RFC 8725 3.1] the token of a platform is refused if it is not signed, or signed by someone else', async () => {
    const sub = newSubject();
    await trusting({ subject: sub });
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const whole = { iss: platform.address, ...claims({ sub }) };
    const other = await openIssuer();
    const forged = [
      `${encode({ alg: 'none' })}.${encode(whole)}.`,
      `${encode({ alg: 'HS256', kid: 'key-1' })}.${encode(whole)}.${encode('x')}`,
      await other.sign(whole),
      'not a token',
      `${encode({ alg: 'ES256' })}.${encode({ iss: platform.address, pad: 'x'.repeat(17_000) })}.x`,
    ];
    for (const assertion of forged) expect((await show(assertion)).body.error).toBe('invalid_grant');
    expect((await form(t, '/oauth/token', { grant_type: GRANT })).body.error).toBe('invalid_request');
  });

  it("[RFC 8725 3.1, 3.10] a platform's token with its own key or signed with the public one is refused", async () => {
    const sub = newSubject();
    await trusting({ subject: sub });
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const other = await openIssuer();
    const keys = await (await fetch(`${other.address}/jwks`)).json();
    const whole = { iss: platform.address, ...claims({ sub }) };
    for (const header of [
      { jwk: keys.keys[0] },
      { jku: `${other.address}/jwks` },
      { x5u: `${other.address}/jwks` },
      { crit: ['exp'], exp: 1 },
      { alg: 'RS256' },
    ]) {
      const [, payload, signature] = (await other.sign(whole)).split('.');
      const assertion = `${encode({ alg: 'ES256', kid: 'key-1', ...header })}.${payload}.${signature}`;
      expect((await show(assertion)).body.error, JSON.stringify(header)).toBe('invalid_grant');
      const signed = await other.sign(whole, 'crit' in header || 'alg' in header ? {} : header);
      expect((await show(signed)).body.error, JSON.stringify(header)).toBe('invalid_grant');
    }
    expect(other.fetched).toEqual(['/jwks']);
    const published = await (await fetch(`${platform.address}/jwks`)).text();
    const text = `${encode({ alg: 'HS256', kid: 'key-1' })}.${encode(whole)}`;
    const hmac = createHmac('sha256', published).update(text).digest('base64url');
    expect((await show(`${text}.${hmac}`)).body.error).toBe('invalid_grant');
  });

  it('a platform may have a clock that is off by a minute', async () => {
    const sub = newSubject();
    await trusting({ subject: sub });
    for (const more of [{ exp: seconds() - 58 }, { nbf: seconds() + 58, iat: seconds() + 58 }])
      expect((await show(await platform.sign(claims({ sub, ...more })))).status).toBe(200);
  });

  it('must name the agent if several agents trust it', async () => {
    const sub = newSubject();
    const agents = [await trusting({ subject: sub }), await trusting({ subject: sub })];
    const assertion = await platform.sign(claims({ sub }));
    const r = await show(assertion);
    expect([r.body.error, lastReason()]).toEqual(['invalid_grant', 'workload-ambiguous']);
    const chosen = await show(assertion, { client_id: agents[1]?.id as string });
    expect(claimsOf(chosen.body.access_token).sub).toBe(agents[1]?.id);
    const another = { client_id: (await t.agent(owner)).id };
    expect((await show(await platform.sign(claims({ sub })), another)).body.error).toBe('invalid_grant');
    const wrong = { client_id: agents[1]?.id as string, client_secret: 'wrong' };
    expect((await show(await platform.sign(claims({ sub })), wrong)).status).toBe(401);
  });

  it('must have the claims that the agent requires', async () => {
    const sub = newSubject();
    await trusting({ subject: sub, claims: { workflow: 'deploy', run: 1, ref: 'refs/heads/*' }, audience: 'mine' });
    const good = { sub, aud: ['other', 'mine'], workflow: ['test', 'deploy'], run: 1, ref: 'refs/heads/x' };
    expect((await show(await platform.sign(claims(good)))).status).toBe(200);
    for (const more of [
      { workflow: 'test' },
      { run: '1' },
      { ref: 'refs/heads/a/b' },
      { ref: undefined },
      { aud: t.legate.baseUrl },
    ])
      expect((await show(await platform.sign(claims({ ...good, ...more })))).body.error).toBe('invalid_grant');
  });

  it('loses its access tokens when the trust, the agent or the issuer ends, or the owner is suspended', async () => {
    const [person, issuer] = [await t.user(), await openIssuer()];
    const { id: issuerId } = await registerIssuer(issuer);
    const agent = await t.agent(person);
    const live = async (subject: string) => {
      const { body } = await trusts(agent, { issuer: issuer.address, subject }, person);
      const assertion = await issuer.sign(claims({ sub: subject }));
      const { access_token } = (await show(assertion, { client_id: agent.id })).body;
      expect((await t.legate.mcp.validateToken(access_token)).valid).toBe(true);
      return { id: body.id as string, access_token };
    };
    const valid = async ({ access_token }: Json) => (await t.legate.mcp.validateToken(access_token)).valid;
    const [a, b] = [await live('a:1'), await live('b:1')];
    expect((await t.call('DELETE', `/agents/${agent.id}/trust/${a.id}`, { as: person })).status).toBe(204);
    expect([await valid(a), await valid(b)]).toEqual([false, true]);
    expect((await show(await issuer.sign(claims({ sub: 'a:1' })))).body.error).toBe('invalid_grant');
    const again = await t.call('DELETE', `/agents/${agent.id}/trust/${a.id}`, { as: person });
    expect(again.body.error.code).toBe('TRUST_NOT_FOUND');

    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'suspended' } });
    expect(await valid(b)).toBe(false);
    expect((await show(await issuer.sign(claims({ sub: 'b:1' })))).body.error).toBe('invalid_grant');
    expect(lastReason()).toBe('owner-suspended');
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'active' } });
    const c = { access_token: (await show(await issuer.sign(claims({ sub: 'b:1' })))).body.access_token };
    expect(await valid(c)).toBe(true);
    expect((await t.call('DELETE', `/issuers/${issuerId}`, { as: admin })).status).toBe(204);
    expect(await valid(c)).toBe(false);
    expect((await show(await issuer.sign(claims({ sub: 'b:1' })))).body.error).toBe('invalid_grant');
  });
});

describe('the trust of an agent', () => {
  it.each(['*', '*:*', 'repo:acme*', 'a:b*c', ':', ''])('refuses the subject %j', async (subject) => {
    const r = await trusts(await t.agent(owner), { subject });
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('matches whole segments', async () => {
    const prefix = newSubject();
    const agent = await trusting({ subject: `${prefix}:ref:refs/heads/*` });
    for (const named of [{ client_id: agent.id }, {}]) {
      const status = async (sub: string) => (await show(await platform.sign(claims({ sub })), named)).status;
      expect(await status(`${prefix}:ref:refs/heads/main`)).toBe(200);
      for (const rest of [':ref:refs/heads/', ':ref:refs/heads/a/b', ':ref:refs/heads/a:b', ''])
        expect(await status(`${prefix}${rest}`)).toBe(400);
    }
  });

  it('is possible for registered issuers only, and for at most 20 workloads', async () => {
    const agent = await t.agent(owner);
    const unknown = await trusts(agent, { issuer: 'https://unknown.example' });
    expect([unknown.status, unknown.body.error.code]).toEqual([422, 'ISSUER_UNKNOWN']);
    const answers = await Promise.all(Array.from({ length: 21 }, (_, i) => trusts(agent, { subject: `n:${i}` })));
    expect(answers.filter((r) => r.status === 201)).toHaveLength(20);
    expect(answers.find((r) => r.status === 422)?.body.error.code).toBe('TRUST_LIMIT_EXCEEDED');
    expect((await t.call('GET', `/agents/${agent.id}/trust`, { as: owner })).body).toHaveLength(20);
    await t.call('DELETE', `/agents/${agent.id}/trust`, { as: owner });
    expect((await t.call('GET', `/agents/${agent.id}/trust`, { as: owner })).body).toEqual([]);
  });
});

describe('the keys of an issuer', () => {
  async function scene(document: Json = {}) {
    const issuer = await openIssuer();
    issuer.document = document;
    await registerIssuer(issuer);
    const sub = newSubject();
    const agent = await t.agent(owner);
    await trusts(agent, { issuer: issuer.address, subject: sub });
    const status = async () => (await show(await issuer.sign(claims({ sub })))).status;
    return { issuer, status };
  }

  it('are fetched once for concurrent requests, and again for an unknown key at most once in 30 s', async () => {
    const { issuer, status } = await scene();
    expect(await Promise.all([status(), status(), status()])).toEqual([200, 200, 200]);
    expect(issuer.fetched).toEqual(['/.well-known/openid-configuration', '/jwks']);
    await issuer.rotate();
    expect(await status()).toBe(400);
    t.clock.advance(30_000);
    expect(await status()).toBe(200);
    expect(issuer.fetched).toHaveLength(4);
    await issuer.rotate();
    expect([await status(), await status(), await status()]).toEqual([400, 400, 400]);
    expect(issuer.fetched).toHaveLength(4);
  });

  it('a token is refused when the keys cannot be fetched', async () => {
    const { issuer, status } = await scene();
    issuer.down = true;
    expect(await status()).toBe(400);
    expect(lastReason()).toBe('assertion-keys-unavailable');
    issuer.down = false;
    expect(await status()).toBe(400);
    t.clock.advance(30_000);
    expect(await status()).toBe(200);
    issuer.down = true;
    t.clock.advance(9 * 60_000);
    expect(await status()).toBe(200);
    t.clock.advance(60_000);
    expect(await status()).toBe(400);
  });

  it.each<[string, Json]>([
    ['names another issuer', { issuer: 'https://other.example' }],
    ['has no keys', { jwks_uri: undefined }],
    ['has keys in a file', { jwks_uri: 'file:///etc/passwd' }],
  ])('a token is refused when the discovery document %s', async (_what, document) => {
    expect(await (await scene(document)).status()).toBe(400);
    expect(lastReason()).toBe('assertion-keys-unavailable');
  });

  it.each<[string, unknown, string]>([
    ['are not a key set', { keys: 'x' }, 'assertion-keys-unavailable'],
    ['have another format', ['x'], 'assertion-keys-unavailable'],
    ['are too many', { keys: [], more: 'x'.repeat(200_000) }, 'assertion-keys-unavailable'],
    ['are secrets', { keys: [{ kty: 'oct', kid: 'key-1', k: 'AAAA', alg: 'ES256' }] }, 'assertion-signature'],
    ['are broken', { keys: [{ kty: 'EC', crv: 'P-256', kid: 'key-1', x: 'AA', y: 'AA' }] }, 'assertion-signature'],
  ])('a token is refused when the keys %s', async (_what, jwks, reason) => {
    const { issuer, status } = await scene();
    issuer.documents['/jwks'] = jwks;
    expect([await status(), lastReason()]).toEqual([400, reason]);
  });

  it('are not fetched from private addresses unless that is allowed', async () => {
    const issuer = await openIssuer();
    const issuers = [{ name: 'x', issuer: issuer.address, uses: ['workload' as const] }];
    const own = await createTestService({ log, config: { issuers } });
    const someone = await own.user();
    const agent = await own.agent(someone);
    const body = { issuer: issuer.address, subject: SUBJECT };
    await own.call('POST', `/agents/${agent.id}/trust`, { as: someone, body });
    expect((await show(await issuer.sign(claims({ aud: own.legate.baseUrl })), {}, own)).status).toBe(400);
    expect([lastReason(), issuer.fetched]).toEqual(['assertion-keys-unavailable', []]);
  });
});
