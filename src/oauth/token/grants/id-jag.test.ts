import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { auth, CrossAppAccessProvider, discoverAndRequestJwtAuthGrant } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openIssuer, type TestIssuer } from '../../../../test/support/issuer.ts';
import {
  ask,
  authorizePath,
  claimsOf,
  form,
  locationOf,
  opened,
  registerVouched,
} from '../../../../test/support/oauth.ts';
import { refusalLog } from '../../../../test/support/refusal-log.ts';
import {
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TYP = 'oauth-id-jag+jwt';
const ENDPOINT = 'http://127.0.0.1:9/notes/mcp';

const { log, logged, lastReason } = refusalLog();
const config = {
  federation: { allowPrivateNetworks: true },
  mcp: { signingSecret: 'the same secret for all instances', extraScopes: ['authorize'] },
};

let t: TestService;
let admin: TestUser;
let company: TestIssuer;
let issuerId: string;
let client: Json;

beforeAll(async () => {
  t = await createTestService({ lasting: true, log, config });
  [admin, company] = [await t.admin(), await openIssuer()];
  const body = { name: 'company', issuer: company.address, uses: ['enterprise'], domains: ['example.com'] };
  const r = await t.call('POST', '/issuers', { as: admin, body });
  expect(r.status, r.text).toBe(201);
  issuerId = r.body.id;
  await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'notes', endpoint: ENDPOINT, tools: ['search'] } });
  client = await newClient();
});

const newClient = (more: Json = {}): Promise<Json> =>
  registerVouched(t, {
    redirect_uris: [],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'client_secret_post',
    ...more,
  });

let people = 0;
/** A person with a verified address, and the subject by which the company names that person. */
async function colleague(): Promise<TestUser & { sub: string; email: string }> {
  const email = `colleague-${++people}@example.com`;
  const { id } = await t.legate.users.create({ email, password: 'correct horse battery', emailVerified: true });
  const session = await t.call('POST', '/sign-in', { body: { email, password: 'correct horse battery' } });
  return { id, token: session.body.token, sub: `employee-${people}`, email } as TestUser & {
    sub: string;
    email: string;
  };
}
type Colleague = Awaited<ReturnType<typeof colleague>>;

const seconds = () => Math.floor(t.clock.now() / 1000);
const jag = ({ sub, email }: Pick<Colleague, 'sub' | 'email'>, more: Json = {}, header: Json = {}): Promise<string> =>
  company.sign(
    {
      sub,
      aud: t.legate.platform.issuer,
      client_id: client.client_id,
      email,
      email_verified: true,
      scope: 'mcp:read mcp:execute',
      iat: seconds(),
      exp: seconds() + 300,
      jti: crypto.randomUUID(),
      ...more,
    },
    { typ: TYP, ...header },
  );
const show = (assertion: string, more: Record<string, string> = {}, at = t, by = client) =>
  form(at, '/oauth/token', {
    grant_type: GRANT,
    assertion,
    client_id: by.client_id,
    client_secret: by.client_secret,
    ...more,
  });

describe('an ID-JAG', () => {
  it('[RFC 7523 2.1] an ID-JAG lets a client act for a person without consent, as the agent of both', async () => {
    const person = await colleague();
    const r = await show(await jag(person), { scope: 'mcp:read' });
    expect(r.status, r.text).toBe(200);
    expect(Object.keys(r.body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
    expect(r.body).toMatchObject({ expires_in: 3600, scope: 'mcp:read' });
    const first = claimsOf(r.body.access_token);
    expect(first).toMatchObject({ user_id: person.id, client_id: client.client_id });
    const agent = (await t.call('GET', `/agents/${first.sub}`, { as: person })).body;
    expect(agent).toMatchObject({ ownerId: person.id, type: 'delegated', name: 'Vouched client' });
    // A second one needs neither an address nor a new agent, and its scopes are added to the agent's permissions.
    const again = await show(await jag(person, { email: undefined, email_verified: undefined }));
    expect(claimsOf(again.body.access_token)).toMatchObject({ sub: first.sub, scope: 'mcp:read mcp:execute' });
    const other = await newClient();
    const elsewhere = await show(await jag(person, { client_id: other.client_id }), {}, t, other);
    expect(claimsOf(elsewhere.body.access_token).sub).not.toBe(first.sub);
    const [{ actor, data }] = (await t.call('GET', '/changes?type=grant.created&limit=1', { as: admin })).body;
    expect(data.reason).toBe('id_jag');
    expect(actor).toMatchObject({ id: person.id, enterprise: { issuer: company.address, subject: person.sub } });
    const listed = (await t.call('GET', '/oauth/grants', { as: person })).body;
    expect(listed.map((grant: Json) => grant.kind)).toEqual(['id_jag', 'id_jag', 'id_jag']);
    const [created] = (await t.call('GET', '/changes?type=agent.created&limit=1', { as: person })).body;
    expect(created.actor).toMatchObject({ id: person.id, clientId: other.client_id, grantId: listed[0].id });
    const metadata = (await t.call('GET', '/.well-known/oauth-authorization-server')).body;
    expect(metadata.authorization_grant_profiles_supported).toEqual(['urn:ietf:params:oauth:grant-profile:id-jag']);
    expect(metadata.grant_types_supported).toContain(GRANT);
  });

  it('is named in decisions about calls of the client', async () => {
    const person = await colleague();
    const { access_token } = (await show(await jag(person, { scope: 'authorize mcp:read' }))).body;
    const body = { action: 'read', resource: 'mcp:notes:search' };
    const decided = await t.call('POST', '/authorize', { as: access_token, body });
    expect(decided.body.allowed, decided.text).toBe(true);
    const entry = (await t.call('GET', `/audit/${decided.body.auditId}`, { as: admin })).body;
    expect(entry.askedBy).toMatchObject({ enterprise: { issuer: company.address, subject: person.sub } });
  });

  it('is for the resource that it names, which has to be registered', async () => {
    const person = await colleague();
    const at = async (claims: Json, more: Record<string, string> = {}) => {
      const r = await show(await jag(person, claims), more);
      return r.status === 200 ? claimsOf(r.body.access_token).aud : r.body.error;
    };
    expect(await at({ resource: ENDPOINT })).toBe(ENDPOINT);
    expect(await at({ resource: [ENDPOINT] }, { resource: ENDPOINT })).toBe(ENDPOINT);
    expect(await at({}, { resource: ENDPOINT })).toBe(ENDPOINT);
    expect(await at({})).toBe(t.legate.platform.audience);
    expect(await at({ resource: 'https://unknown.example' })).toBe('invalid_grant');
    expect(await at({ resource: 7 })).toBe('invalid_grant');
    expect(await at({ resource: ENDPOINT }, { resource: t.legate.platform.audience })).toBe('invalid_target');
    expect(await at({}, { resource: 'https://unknown.example' })).toBe('invalid_target');
  });

  it('limits the scopes to its own', async () => {
    const person = await colleague();
    const at = async (scope: string | undefined, asked?: string) =>
      (await show(await jag(person, { scope }), asked === undefined ? {} : { scope: asked })).body;
    expect((await at('mcp:read', 'mcp:read mcp:execute')).scope).toBe('mcp:read');
    expect((await at('mcp:read unknown')).scope).toBe('mcp:read');
    expect((await at(undefined, 'mcp:execute')).scope).toBe('mcp:execute');
    expect((await at('mcp:read', 'mcp:execute')).error).toBe('invalid_scope');
    expect((await at('', 'mcp:execute')).error).toBe('invalid_scope');
    expect((await at('mcp:read', 'unknown')).error).toBe('invalid_scope');
  });

  it('is refused if its scope is not a text', async () => {
    const person = await colleague();
    for (const scope of [['mcp:read'], null, { 'mcp:read': true }])
      expect((await show(await jag(person, { scope }))).body.error).toBe('invalid_grant');
  });

  it.each<[string, Json, Json, string]>([
    ['is for another server', { aud: 'https://other.example' }, {}, 'assertion-audience'],
    ['is for the token endpoint', { aud: 'http://localhost:3000/oauth/token' }, {}, 'assertion-audience'],
    [
      'is also for another server',
      { aud: ['http://localhost:3000', 'https://other.example'] },
      {},
      'assertion-audience',
    ],
    ['is for another client', { client_id: 'other' }, {}, 'assertion-of-another-client'],
    ['names no client', { client_id: undefined }, {}, 'assertion-of-another-client'],
    ['has no jti', { jti: undefined }, {}, 'assertion-malformed'],
    ['has no iat', { iat: undefined }, {}, 'assertion-malformed'],
    ['has no subject', { sub: undefined }, {}, 'assertion-malformed'],
    ['has expired', { iat: -400, exp: -61 }, {}, 'assertion-expired'],
    ['is from a clock 10 minutes ahead', { iat: 600, exp: 660 }, {}, 'assertion-expired'],
    ['is from a clock 10 minutes behind', { iat: -600, exp: -300 }, {}, 'assertion-expired'],
    ['is valid for too long', { exp: 601 }, {}, 'assertion-lifetime'],
    ['is of an unknown issuer', { iss: 'https://unknown.example' }, {}, 'assertion-issuer'],
    ['is of an unknown key', {}, { kid: 'unknown' }, 'assertion-signature'],
    ['has the type of an ID token', {}, { typ: 'JWT' }, 'assertion-issuer'],
  ])('[RFC 7523 3] an ID-JAG is refused if it %s', async (_what, changes, header, reason) => {
    const person = await colleague();
    const at = Object.fromEntries(
      Object.entries(changes).map(([name, value]) => [name, typeof value === 'number' ? seconds() + value : value]),
    );
    const r = await show(await jag(person, at, header));
    expect([r.status, r.body.error, lastReason()]).toEqual([400, 'invalid_grant', reason]);
    expect(JSON.stringify(logged.at(-1))).not.toContain('eyJ');
  });

  it('[RFC 7523 3] an ID-JAG works once, also concurrently on several instances, and creates one agent', async () => {
    const instances = [t, ...(dialect === 'postgres' ? [await createTestService({ config, sameDatabaseAs: t })] : [])];
    const person = await colleague();
    const assertion = await jag(person);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => show(assertion, {}, instances[i % instances.length])),
    );
    expect(answers.map((r) => r.status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
    const newcomer = await colleague();
    const several = await Promise.all([1, 2, 3, 4].map(() => jag(newcomer)));
    const agents = (await Promise.all(several.map((each, i) => show(each, {}, instances[i % instances.length])))).map(
      (r) => claimsOf(r.body.access_token).sub,
    );
    expect(new Set(agents).size).toBe(1);
  });

  it('requires a client that authenticates and is registered for it', async () => {
    const person = await colleague();
    const open = await newClient({ token_endpoint_auth_method: 'none' });
    const unproved = await show(await jag(person, { client_id: open.client_id }), { client_secret: '' }, t, open);
    expect([unproved.body.error, lastReason()]).toEqual(['invalid_client', 'client-not-confidential']);
    expect((await show(await jag(person), { client_secret: 'wrong' })).status).toBe(401);
    expect((await form(t, '/oauth/token', { grant_type: GRANT, assertion: await jag(person) })).status).toBe(401);
    const other = await newClient({ grant_types: ['authorization_code'], redirect_uris: ['https://app.example/'] });
    const unregistered = await show(await jag(person, { client_id: other.client_id }), {}, t, other);
    expect(unregistered.body.error).toBe('unauthorized_client');
  });

  it('gives nothing to a client that is deleted while the keys of the issuer are fetched', async () => {
    const person = await colleague();
    const slow = await openIssuer();
    const body = { name: 'slow', issuer: slow.address, uses: ['enterprise'], domains: ['example.com'] };
    await t.call('POST', '/issuers', { as: admin, body });
    const app = await newClient();
    const claims = { ...claimsOf(await jag(person)), iss: slow.address, client_id: app.client_id };
    const assertion = await slow.sign(claims, { typ: TYP });
    slow.beforeResponse = () => t.call('DELETE', `/oauth/clients/${app.client_id}`, { as: admin });
    const r = await show(assertion, {}, t, app);
    expect([r.status, r.body.error, lastReason()], r.text).toEqual([401, 'invalid_client', 'client-unknown']);
    expect((await t.call('GET', '/oauth/grants', { as: person })).body).toEqual([]);
    expect((await t.call('GET', '/agents', { as: person })).body).toEqual([]);
  });

  it('is refused for a person who is unknown, suspended or an auditor', async () => {
    const reasonFor = async (person: Pick<Colleague, 'sub' | 'email'>, more: Json = {}) => {
      const r = await show(await jag(person, more));
      return r.status === 200 ? 'accepted' : [r.body.error, lastReason()].join();
    };
    const person = await colleague();
    const unknown = 'invalid_grant,person-unknown';
    expect(await reasonFor({ sub: 'nobody', email: 'nobody@example.com' })).toBe(unknown);
    expect(await reasonFor(person, { email_verified: undefined })).toBe(unknown);
    expect(await reasonFor(person, { email_verified: 'true' })).toBe(unknown);
    expect(await reasonFor(person, { email: undefined })).toBe(unknown);
    const email = 'unverified@example.com';
    await t.legate.users.create({ email, password: 'correct horse battery' });
    expect(await reasonFor({ sub: 'unverified', email })).toBe(unknown);
    const foreign = 'someone@other.example';
    await t.legate.users.create({ email: foreign, password: 'correct horse battery', emailVerified: true });
    expect(await reasonFor({ sub: 'foreign', email: foreign })).toBe(unknown);
    expect(await reasonFor(person)).toBe('accepted');
    // Another person who gets the address does not get the account.
    expect(await reasonFor({ sub: 'successor', email: person.email })).toBe(unknown);
    const change = (body: Json) => t.call('PATCH', `/users/${person.id}`, { as: admin, body });
    const token = (await show(await jag(person))).body.access_token as string;
    await change({ status: 'suspended' });
    expect(await reasonFor(person)).toBe('invalid_grant,owner-suspended');
    expect((await t.legate.mcp.validateToken(token)).valid).toBe(false);
    await change({ status: 'active' });
    expect(await reasonFor(person)).toBe('accepted');
    await change({ role: 'auditor' });
    expect(await reasonFor(person)).toBe('invalid_grant,person-auditor');
    await t.call('DELETE', `/users/${person.id}`, { as: admin });
    expect(await reasonFor(person)).toBe(unknown);
  });

  it('is accepted from the client classes of the MCP SDK, with a provider of ID-JAGs', async () => {
    const person = await colleague();
    const exchanged: URLSearchParams[] = [];
    const exchange = async (request: IncomingMessage, response: ServerResponse) => {
      const asked = new URLSearchParams(await text(request));
      exchanged.push(asked);
      const access_token = await jag(person, { resource: asked.get('resource'), scope: asked.get('scope') });
      const issued_token_type = 'urn:ietf:params:oauth:token-type:id-jag';
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token, issued_token_type, token_type: 'N_A', expires_in: 300 }));
    };
    const provider = createServer((request, response) => void exchange(request, response));
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    afterAll(() => new Promise((done) => provider.close(() => done(undefined))));
    const tokenEndpoint = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token`;
    company.document = { ...company.document, ...identityProviderDocument(tokenEndpoint) };
    company.documents['/.well-known/oauth-authorization-server'] = { issuer: company.address, ...company.document };
    const toUs = (url: string | URL, init?: RequestInit): Promise<Response> =>
      t.legate.fetch(new Request(url, init)) as Promise<Response>;
    const access = new CrossAppAccessProvider({
      clientId: client.client_id,
      clientSecret: client.client_secret,
      expectedIssuer: t.legate.platform.issuer,
      assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
          idpUrl: company.address,
          audience: authorizationServerUrl,
          resource: resourceUrl,
          idToken: 'the ID token of the person',
          clientId: 'the client at the identity provider',
          ...(scope === undefined ? {} : { scope }),
        });
        return jwtAuthGrant;
      },
      fetchFn: toUs,
    });
    const result = await auth(access, { serverUrl: t.legate.platform.audience, scope: 'mcp:read', fetchFn: toUs });
    expect(result).toBe('AUTHORIZED');
    expect(exchanged[0]?.get('audience')).toBe(t.legate.platform.issuer);
    expect(claimsOf(access.tokens()?.access_token as string)).toMatchObject({ user_id: person.id, scope: 'mcp:read' });
  });
});

const identityProviderDocument = (token_endpoint: string): Json => ({
  token_endpoint,
  authorization_endpoint: token_endpoint,
  response_types_supported: ['code'],
});

describe('an issuer with enterprise-managed authorization', () => {
  it('that is required is the only way for applications to act for its people', async () => {
    const required = (value: boolean) =>
      t.call('PATCH', `/issuers/${issuerId}`, { as: admin, body: { enterprise: { required: value } } });
    const person = await colleague();
    const headers = { authorization: `Bearer ${person.token}` };
    const app = await registerVouched(t, {
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    });
    const asked = ask(app);
    const page = await opened(t, authorizePath(asked), { headers });
    expect(page.status).toBe(200);
    expect((await required(true)).body.enterprise).toEqual({ required: true });
    const refusal = locationOf(await t.call('GET', authorizePath(asked), { headers })).searchParams;
    expect([refusal.get('error'), refusal.get('error_description')]).toEqual([
      'access_denied',
      'The identity provider of your organization decides which applications may act for you.',
    ]);
    const consentToken = /name="consentToken" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const path = authorizePath(asked).replace('?', '/consent?');
    const allowed = await form(
      t,
      path,
      { decision: 'allow', agent: 'new', consentToken, 'scope:mcp:read': 'on' },
      headers,
    );
    expect(locationOf(allowed).searchParams.get('error')).toBe('access_denied');
    const details = await t.call('GET', `/oauth/consent?${new URLSearchParams(asked.query)}`, { headers });
    const byApi = await t.call('POST', `/oauth/consent?${new URLSearchParams(asked.query)}`, {
      headers,
      body: { decision: 'allow', consentToken: details.body.consentToken },
    });
    expect(byApi.status, byApi.text).toBe(403);
    const device = await form(t, '/oauth/device_authorization', {
      client_id: app.client_id,
      client_secret: app.client_secret,
    });
    const answer = { user_code: device.body.user_code, decision: 'allow', agent: 'new', 'scope:mcp:read': 'on' };
    const shown = await form(t, '/device', answer, headers);
    expect([shown.status, shown.text]).toEqual([
      400,
      expect.stringContaining('identity provider of your organization'),
    ]);
    expect((await show(await jag(person))).status).toBe(200);
    // People of other domains are not affected.
    const outside = await t.user();
    await t.call('PATCH', `/issuers/${issuerId}`, { as: admin, body: { domains: ['other.example'] } });
    const free = await opened(t, authorizePath(ask(app)), { headers: { authorization: `Bearer ${outside.token}` } });
    expect(free.status).toBe(200);
    await t.call('PATCH', `/issuers/${issuerId}`, { as: admin, body: { domains: ['example.com'] } });
    await required(false);
    expect((await opened(t, authorizePath(ask(app)), { headers })).status).toBe(200);
  });

  it('has to exist, and its tokens end with it', async () => {
    const person = await colleague();
    const other = await openIssuer();
    const body = { name: 'short-lived', issuer: other.address, uses: ['workload'], domains: ['example.com'] };
    const { id } = (await t.call('POST', '/issuers', { as: admin, body })).body;
    const claims = { ...claimsOf(await jag(person)), iss: other.address, sub: 'other' };
    const once = () => other.sign({ ...claims, jti: crypto.randomUUID() }, { typ: TYP });
    expect((await show(await once())).body.error).toBe('invalid_grant');
    expect(lastReason()).toBe('assertion-issuer');
    await t.call('PATCH', `/issuers/${id}`, { as: admin, body: { uses: ['workload', 'enterprise'] } });
    const token = (await show(await once())).body.access_token as string;
    expect((await t.legate.mcp.validateToken(token)).valid).toBe(true);
    await t.call('DELETE', `/issuers/${id}`, { as: admin });
    expect((await t.legate.mcp.validateToken(token)).valid).toBe(false);
    expect((await show(await once())).body.error).toBe('invalid_grant');
  });
});
