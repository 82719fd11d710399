import { expect, it } from 'vitest';
import { FormClient } from '../support/browser-like.ts';
import { begin, CLIENT, openRealProvider, throughProvider } from '../support/identity-provider.ts';
import { openIssuer } from '../support/issuer.ts';
import { claimsOf, form, registerVouched } from '../support/oauth.ts';
import { createTestService, type Json } from '../support/service.ts';
import { openStream } from '../support/stream.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ENDPOINT = 'http://127.0.0.1:9/notes/mcp';

it('a person joins by SCIM, signs in, lets clients and a CI job act, and is stopped by the directory at once', async () => {
  const t = await createTestService({
    config: {
      federation: { allowPrivateNetworks: true },
      mcp: { signingSecret: 'a secret of this test that is long', extraScopes: ['authorize'] },
    },
  });
  // The provider has the clock of the machine.
  t.clock.set(new Date().toISOString());
  const admin = await t.admin();
  const [provider, company, ci] = [
    await openRealProvider([`${t.legate.baseUrl}/auth/oidc/company/callback`]),
    await openIssuer(),
    await openIssuer(),
  ];
  const issuers = [
    { name: 'company', issuer: provider.address, uses: ['signIn'], ...CLIENT, domains: ['example.com'] },
    { name: 'company-clients', issuer: company.address, uses: ['enterprise'], domains: ['example.com'] },
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

  // The directory creates the account.
  const email = 'ada@example.com';
  const joined = await scim('POST', '/Users', { userName: email, displayName: 'Ada', active: true });
  expect(joined.status, joined.text).toBe(201);
  const userId = joined.body.id as string;

  // The person signs in with the provider, as the user of the directory.
  provider.person = { sub: 'employee-1', email, email_verified: true, name: 'Ada' };
  const browser = new FormClient(t);
  const path = await throughProvider(t, (await begin(browser, 'company')).href);
  expect((await browser.get(path)).status).toBe(303);
  expect((await browser.get('/auth/session')).body.user.id).toBe(userId);

  // A client acts for the person by an ID-JAG, without a consent; a job of the CI system acts as an agent.
  const now = () => Math.floor(t.clock.now() / 1000);
  const claims = (more: Json): Json => ({ iat: now(), exp: now() + 300, jti: crypto.randomUUID(), ...more });
  const clientToken = async () =>
    form(t, '/oauth/token', {
      grant_type: GRANT,
      assertion: await company.sign(
        claims({
          sub: 'employee-1',
          aud: t.legate.platform.issuer,
          client_id: client['client_id'],
          email,
          email_verified: true,
          scope: 'mcp:read mcp:execute authorize',
        }),
        { typ: 'oauth-id-jag+jwt' },
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
  const decide = (as: string | { token: string }) =>
    t.call('POST', '/authorize', { as, body: { agentId: agent.id, action: 'read', resource: 'db:x' } });
  expect((await decide(job.body.access_token)).body.allowed).toBe(true);
  expect((await decide(agent)).body.allowed).toBe(true);
  const isValid = async (token: string) => (await t.legate.mcp.validateToken(token)).valid;
  expect([await isValid(vouched.body.access_token), await isValid(job.body.access_token)]).toEqual([true, true]);
  const stream = await openStream(t, { as: agent });
  expect(stream.ended).toBe(false);

  // The directory switches the person off: nothing of theirs goes on.
  const off = await scim('PATCH', `/Users/${userId}`, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'replace', value: { active: false } }],
  });
  expect([off.status, off.body.active]).toEqual([200, false]);
  for (const asker of [agent, admin]) {
    const { allowed, reason } = (await decide(asker)).body;
    expect([allowed, reason]).toEqual([false, 'OWNER_SUSPENDED']);
  }
  expect((await decide(job.body.access_token)).status).toBe(401);
  expect([await isValid(vouched.body.access_token), await isValid(job.body.access_token)]).toEqual([false, false]);
  await stream.end();
  expect(stream.ended).toBe(true);
  for (const refused of [await clientToken(), await jobToken()])
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
  expect((await browser.get('/auth/session')).status).toBe(401);
  const again = new FormClient(t);
  const callback = await throughProvider(t, (await begin(again, 'company')).href);
  expect((await again.get(callback)).status).not.toBe(303);
  const [entry] = (await t.call('GET', `/audit?agentId=${agent.id}&limit=1`, { as: admin })).body;
  expect(entry).toMatchObject({ agentId: agent.id, reason: 'OWNER_SUSPENDED' });
});
