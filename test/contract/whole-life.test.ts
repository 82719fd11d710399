import { expect, it } from 'vitest';
import { asId } from '../../src/kernel/ids.ts';
import { FormClient } from '../support/browser-like.ts';
import { begin, CLIENT, openRealProvider, throughProvider } from '../support/identity-provider.ts';
import { openIssuer } from '../support/issuer.ts';
import { claimsOf, form, registerVouched } from '../support/oauth.ts';
import { createTestService, type Json } from '../support/service.ts';
import { openStream } from '../support/stream.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ENDPOINT = 'http://127.0.0.1:9/notes/mcp';

it('a person joins by SCIM, signs in, lets clients and a CI job act, and the directory stops all at once', async () => {
  const ignored = () => {};
  const refusals: unknown[] = [];
  const t = await createTestService({
    config: {
      federation: { allowPrivateNetworks: true },
      mcp: { signingSecret: 'a secret of this test that is long', extraScopes: ['authorize'] },
      users: { scimGroups: ['Acme staff=tenant:acme'] },
    },
    log: { debug: ignored, info: (fields: Json) => refusals.push(fields['reason']), warn: ignored, error: ignored },
  });
  // The provider uses the clock of the system.
  t.clock.set(new Date().toISOString());
  const admin = await t.admin();
  const [provider, ci] = [
    await openRealProvider([`${t.legate.baseUrl}/auth/oidc/company/callback`]),
    await openIssuer(),
  ];
  const tenant = await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } });
  const issuers = [
    {
      name: 'company',
      issuer: provider.address,
      uses: ['signIn', 'enterprise'],
      ...CLIENT,
      domains: ['example.com'],
      enterprise: { required: true },
    },
    { name: 'ci', issuer: ci.address, uses: ['workload'] },
  ];
  for (const body of issuers) expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
  await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'notes', endpoint: ENDPOINT, tools: ['search'] } });
  const client = await registerVouched(t, {
    redirect_uris: [],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'client_secret_post',
  });
  const directory = await t.apiToken(admin.id, ['scim']);
  const scim = (method: string, path: string, body: Json) =>
    t.call(method, `/scim/v2${path}`, {
      headers: { authorization: `Bearer ${directory}`, 'content-type': 'application/scim+json' },
      raw: JSON.stringify(body),
    });

  // The directory creates the account, in the tenant of the company.
  const email = 'ada@example.com';
  const joined = await scim('POST', '/Users', { userName: email, displayName: 'Ada', active: true });
  expect(joined.status, joined.text).toBe(201);
  const userId = joined.body.id as string;
  const group = await scim('POST', '/Groups', { displayName: 'Acme staff', members: [{ value: userId }] });
  expect(group.status, group.text).toBe(201);

  // The person signs in with the provider, as the user from the directory.
  provider.person = { sub: 'employee-1', email, email_verified: true, name: 'Ada' };
  const browser = new FormClient(t);
  const path = await throughProvider(t, (await begin(browser, 'company')).href);
  expect((await browser.get(path)).status).toBe(303);
  expect((await browser.get('/auth/session')).body.user).toMatchObject({ id: userId, tenantId: tenant.body.id });
  const apiToken = await t.apiToken(asId('user', userId));

  // A client acts for the person with an ID-JAG, without a consent; a job of the CI system acts as an agent.
  const now = () => Math.floor(t.clock.now() / 1000);
  const claims = (more: Json): Json => ({ iat: now(), exp: now() + 300, jti: crypto.randomUUID(), ...more });
  const clientToken = async () =>
    form(t, '/oauth/token', {
      grant_type: GRANT,
      assertion: await provider.sign(
        claims({
          sub: 'employee-1',
          aud: t.legate.platform.issuer,
          client_id: client['client_id'],
          scope: 'mcp:read mcp:execute authorize',
        }),
        'oauth-id-jag+jwt',
      ),
      client_id: client['client_id'],
      client_secret: client['client_secret'],
    });
  const vouched = await clientToken();
  expect(vouched.status, vouched.text).toBe(200);
  expect(claimsOf(vouched.body.access_token)).toMatchObject({ user_id: userId });

  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'legate:authorize', actions: ['check'] },
    { resource: 'legate:events', actions: ['read'] },
  ];
  const agent = await t.agent(admin, { ownerId: userId, permissions });
  const trust = { issuer: ci.address, subject: 'repo:acme/shop:ref:refs/heads/main' };
  expect((await t.call('POST', `/agents/${agent.id}/trust`, { as: admin, body: trust })).status).toBe(201);
  const jobToken = async () =>
    form(t, '/oauth/token', {
      grant_type: GRANT,
      assertion: await ci.sign(claims({ sub: trust.subject, aud: t.legate.baseUrl })),
      scope: 'authorize',
    });
  const job = await jobToken();
  expect(job.status, job.text).toBe(200);
  const decide = (as: string | { token: string }, agentId: string = agent.id) =>
    t.call('POST', '/authorize', { as, body: { agentId, action: 'read', resource: 'db:x' } });
  expect((await decide(job.body.access_token)).body.allowed).toBe(true);
  expect((await decide(agent)).body.allowed).toBe(true);
  const ofClient = claimsOf(vouched.body.access_token).sub;
  const service = await t.agent(admin, { ownerId: userId, type: 'service', permissions });
  const serviceToken = () =>
    form(t, '/oauth/token', {
      grant_type: 'client_credentials',
      client_id: service.id,
      client_secret: service.token,
    });
  expect((await serviceToken()).status).toBe(200);
  const isValid = async (token: string) => (await t.legate.mcp.validateToken(token)).valid;
  const accessTokens = [vouched, job, await serviceToken()].map(({ body }) => body.access_token as string);
  expect(await Promise.all(accessTokens.map(isValid))).toEqual([true, true, true]);
  const streams = [await openStream(t, { as: agent }), await openStream(t, { as: apiToken })];
  expect(streams.map(({ ended }) => ended)).toEqual([false, false]);

  // The directory suspends the person, and everything that acts for the person stops.
  const turn = (active: boolean) =>
    scim('PATCH', `/Users/${userId}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', value: { active } }],
    });
  const off = await turn(false);
  expect([off.status, off.body.active]).toEqual([200, false]);
  for (const [asker, agentId] of [
    [agent, agent.id],
    [admin, agent.id],
    [service, service.id],
    [admin, ofClient],
  ] as const) {
    const { allowed, reason, auditId } = (await decide(asker, agentId)).body;
    expect([allowed, reason]).toEqual([false, 'OWNER_SUSPENDED']);
    const recorded = (await t.call('GET', `/audit/${auditId}`, { as: admin })).body;
    expect(recorded).toMatchObject({ agentId, result: 'denied', reason: 'OWNER_SUSPENDED' });
  }
  for (const token of accessTokens.slice(0, 2)) expect((await decide(token)).status).toBe(401);
  expect(await Promise.all(accessTokens.map(isValid))).toEqual([false, false, false]);
  for (const stream of streams) await stream.end();
  expect((await t.call('GET', '/agents', { as: apiToken })).status).toBe(401);
  for (const [refused, error] of [
    [await clientToken(), 'invalid_grant'],
    [await jobToken(), 'invalid_grant'],
    [await serviceToken(), 'invalid_client'],
  ] as const) {
    expect(refused.body.error).toBe(error);
    expect(refusals.at(-1)).toBe('owner-suspended');
  }
  expect((await browser.get('/auth/session')).status).toBe(401);
  const again = new FormClient(t);
  const callback = await throughProvider(t, (await begin(again, 'company')).href);
  expect([(await again.get(callback)).status, refusals.at(-1)]).toEqual([403, 'owner-suspended']);

  // The audit log contains the reason of each end, and the directory as its cause.
  const changes = async (type: string) =>
    ((await t.call('GET', `/changes?type=${type}&limit=100`, { as: admin })).body as Json[]).map(({ actor, data }) => [
      actor.kind,
      data.reason,
    ]);
  const granted = ((await t.call('GET', '/changes?type=grant.created&limit=100', { as: admin })).body as Json[]).length;
  expect(await changes('grant.revoked')).toEqual(Array(granted).fill(['apiToken', 'owner-suspended']));
  expect(await changes('session.ended')).toEqual([['apiToken', 'user-suspended']]);

  // The directory reinstates the person: agents and API tokens work again, sessions and access tokens do not.
  expect((await turn(true)).body.active).toBe(true);
  for (const asker of [agent, service]) expect((await decide(asker, asker.id)).body.allowed).toBe(true);
  expect((await t.call('GET', '/agents', { as: apiToken })).status).toBe(200);
  expect((await browser.get('/auth/session')).status).toBe(401);
  expect(await Promise.all(accessTokens.map(isValid))).toEqual([false, false, false]);
  const renewed = [await clientToken(), await jobToken(), await serviceToken()];
  expect(renewed.map(({ status }) => status)).toEqual([200, 200, 200]);
  const back = await throughProvider(t, (await begin(again, 'company')).href);
  expect((await again.get(back)).status).toBe(303);
});
