import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import { EVENT_TYPES, type EventType } from '../../src/ledger/index.ts';
import { addPasskey, newSession } from '../support/authenticator.ts';
import { answerDevice, deviceClient, startDevice } from '../support/device.ts';
import { form, register, signUp, tokens } from '../support/oauth.ts';
import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from '../support/service.ts';
import { openStream, type Stream } from '../support/stream.ts';
import { FIELDS, PAYLOADS, text, time, WITHOUT_FIELDS } from './event-types.cases.ts';

/** Events of the start of a service and of its upkeep, which src/activity/seal tests. */
const SEALING: ReadonlySet<string> = new Set([
  'ledger.begun',
  'ledger.key-added',
  'ledger.key-retired',
  'ledger.pruned',
  'ledger.restored',
  'ledger.resumed',
  'ledger.stopped',
]);

/** Events of administration, which do not concern the principals of this test. */
const ADMINISTRATION: ReadonlySet<string> = new Set(
  Object.keys(EVENT_TYPES).filter(
    (type) =>
      !SEALING.has(type) &&
      /^(client|group|invite|issuer|ledger|mcp|tenant)\.|^user\.(created|deleted)$|^gateway\.(?!c|d)|^audit\.erased$/.test(
        type,
      ),
  ),
);

interface Person extends TestUser {
  readonly main: TestAgent;
  readonly other: TestAgent;
  /** An agent that may read what the agents of its owner do. */
  readonly gateway: TestAgent;
}

/** An MCP server over stdio that answers `initialize` and `tools/list` with the same result. */
const ONE_TOOL = `process.stdin.on('data', (data) => {
  for (const line of String(data).split('\\n')) {
    const id = line && JSON.parse(line).id;
    const result = { capabilities: { tools: {} }, serverInfo: {}, tools: [{ name: 'x', inputSchema: {} }] };
    if (id) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }
})`;

let t: TestService;
let owner: Person;
let stranger: Person;
let colleague: TestUser;
let admin: TestUser;
let adminsAgent: TestAgent;
/** The events that each principal received on a stream that stayed open. */
const live: Record<string, Stream> = {};
const tokenOf: Record<string, string> = {};
let since = '';

async function person(): Promise<Person> {
  const user = await signUp(t);
  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
    { resource: 'mcp:away:*', actions: ['execute'] },
  ];
  const gateway = await t.agent(user, { permissions: [{ resource: 'legate:events', actions: ['read'] }] });
  return { ...user, main: await t.agent(user, { permissions }), other: await t.agent(user), gateway };
}

const ok = async (method: string, path: string, as: { token: string }, body?: object): Promise<Json> => {
  const r = await t.call(method, path, { as, ...(body ? { body } : {}) });
  if (r.status >= 300) throw new Error(`${method} ${path} answered ${r.status}: ${r.text}`);
  return r.body;
};

/** Triggers every type of event once. */
async function everything(someone: Person): Promise<void> {
  const { main, other, email } = someone;
  await ok('PATCH', `/users/${someone.id}`, admin, { name: 'Ada' });
  const password = 'correct horse battery';
  await t.call('POST', '/sign-in', { body: { email, password: 'wrong' } });
  const { token } = (await t.call('POST', '/sign-in', { body: { email, password } })).body;
  await ok('POST', '/sign-out', { token });
  for (let i = 0; i < 11; i++) await t.call('POST', '/totp/enable', { as: someone, body: { password: 'wrong' } });
  await t.call('GET', '/metrics', { as: someone });
  await t.legate.platform.background.idle();
  const spare = await t.agent(someone, { name: 'später\u2028' });
  await ok('PATCH', `/agents/${spare.id}`, someone, { name: 'spare' });
  await ok('POST', `/agents/${spare.id}/rotate`, someone);
  await ok('DELETE', `/agents/${spare.id}`, someone);
  const { auditId } = (await t.authorize(main, { action: 'read', resource: 'db:x' })).body;
  await Promise.all(Array.from({ length: 20 }, () => t.authorize(main, { action: 'read', resource: 'no:x' })));
  const { approvalId } = (await t.authorize(main, { action: 'pay', resource: 'bank:transfer' })).body;
  await ok('POST', `/approvals/${approvalId}/approve`, someone);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };
  await ok('POST', '/gateway/away/mcp', main, call);
  await t.legate.platform.background.idle();
  const delegation = await ok('POST', '/delegations', someone, {
    fromAgent: main.id,
    toAgent: other.id,
    permissions: [{ resource: 'db:x', actions: ['read'] }],
  });
  await ok('DELETE', `/delegations/${delegation.id}`, someone);
  const budget = await ok('POST', '/budgets', someone, { agentId: main.id, metric: 'calls', limit: 9, window: 'day' });
  await ok('PATCH', `/budgets/${budget.id}`, someone, { limit: 10 });
  await ok('DELETE', `/budgets/${budget.id}`, someone);
  await ok('PUT', '/gateway/connections/secret', someone, { fields: { token: 'x' } });
  await ok('DELETE', '/gateway/connections/secret', someone);
  const apiToken = await ok('POST', '/api-tokens', someone, { name: 'ci' });
  await ok('DELETE', `/api-tokens/${apiToken.id}`, someone);
  const session = await newSession(t, someone.id);
  const passkey = await addPasskey(t, session);
  await ok('DELETE', `/passkeys/${passkey.body.id}`, { token: session });
  await administration(main);
  const webhook = await ok('POST', '/webhooks', someone, { url: 'https://hooks.example/a-secret' });
  await ok('PATCH', `/webhooks/${webhook.id}`, someone, { types: ['audit'] });
  await ok('POST', `/webhooks/${webhook.id}/rotate`, someone);
  await ok('DELETE', `/webhooks/${webhook.id}`, someone);
  await ok('POST', '/budgets', someone, { agentId: main.id, metric: 'cost', limit: 1, window: 'day' });
  await ok('POST', '/costs', someone, { agentId: main.id, amount: 1.5, tokens: 7, auditId });
  const client = await register(t);
  const { access_token } = await tokens(t, someone, client);
  await form(t, '/oauth/revoke', { token: access_token, client_id: client.client_id });
  const [grant] = await ok('GET', '/oauth/grants', someone);
  await ok('DELETE', `/oauth/grants/${grant.id}`, someone);
  const { device } = await startDevice(t, {}, await deviceClient(t, { client_name: 'Test client' }));
  await answerDevice(t, someone, device.user_code);
  // Listing anomalies runs the detector.
  const anomalies = await ok('GET', '/anomalies', someone);
  expect(anomalies.length).toBe(1);
  await ok('POST', `/anomalies/${anomalies[0].id}/acknowledge`, someone, { note: 'seen' });
}

let runs = 0;
async function administration(main: TestAgent): Promise<void> {
  const run = ++runs;
  const tenant = await ok('POST', '/tenants', admin, { name: `tenant ${run}` });
  await ok('PATCH', `/tenants/${tenant.id}`, admin, { name: 'renamed' });
  await ok('DELETE', `/tenants/${tenant.id}`, admin);
  const invite = await ok('POST', '/invites', admin, { email: `invited-${run}@example.com` });
  await ok('DELETE', `/invites/${invite.id}`, admin);
  const email = `accepting-${run}@example.com`;
  const { url } = await ok('POST', '/invites', admin, { email });
  const inviteToken = new URL(url).searchParams.get('invite');
  const { status } = await t.call('POST', '/sign-up', { body: { email, password: 'long enough', inviteToken } });
  expect(status).toBe(200);
  const server = await ok('POST', '/mcp/servers', admin, { name: `server ${run}`, endpoint: 'https://mcp.example/x' });
  await ok('PATCH', `/mcp/servers/${server.id}`, admin, { tools: ['a'] });
  await ok('DELETE', `/mcp/servers/${server.id}`, admin);
  await ok('POST', '/gateway/pinned/mcp', main, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await ok('POST', '/gateway/servers/pinned/tools/x/block', admin);
  await ok('POST', '/gateway/servers/pinned/tools/x/approve', admin);
  await ok('POST', '/gateway/servers/pinned/restart', admin);
  const trusted = { name: `issuer-${run}`, issuer: `https://issuer-${run}.example`, uses: ['workload'] };
  const issuer = await ok('POST', '/issuers', admin, trusted);
  await ok('PATCH', `/issuers/${issuer.id}`, admin, { algorithms: ['ES384'] });
  await ok('POST', `/agents/${main.id}/trust`, admin, { issuer: trusted.issuer, subject: 'a' });
  await ok('DELETE', `/agents/${main.id}/trust`, admin);
  await ok('PUT', `/agents/${main.id}/keys`, admin, { jwksUri: 'https://keys.example/jwks' });
  await ok('DELETE', `/issuers/${issuer.id}`, admin);
  const client = await register(t);
  await ok('DELETE', `/oauth/clients/${client.client_id}`, admin);
  const group = await ok('POST', '/scim/v2/Groups', admin, { displayName: `group ${run}` });
  await ok('PUT', `/scim/v2/Groups/${group.id}`, admin, { displayName: `group of ${run}` });
  await ok('DELETE', `/scim/v2/Groups/${group.id}`, admin);
  const leaver = await signUp(t);
  const { auditId } = (await t.authorize(await t.agent(leaver), { action: 'read', resource: 'x' })).body;
  await ok('POST', '/audit/erasures', admin, { auditIds: [auditId] });
  await ok('DELETE', `/users/${leaver.id}`, admin);
}

interface Row {
  readonly id: string;
  readonly type: EventType;
  readonly agent_id: string | null;
  readonly user_id: string | null;
}
/** The committed events in order, read from the database. */
const committed = async (): Promise<Row[]> => {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['id', 'type', 'agent_id', 'user_id'])
    .where('timestamp', '>=', Date.parse(since))
    .orderBy('seq')
    .execute();
  return rows.map((row) => ({ ...row, type: row.type as EventType, id: row.id.replace(/^aud_/, 'evt_') }));
};

beforeAll(async () => {
  const pinned = { command: process.execPath, args: ['-e', ONE_TOOL] };
  const auth = { type: 'userSecret' as const, fields: ['token'] };
  const secret = { command: '/nowhere/x', env: { TOKEN: `\${user:token}` }, legate: { auth } };
  t = await createTestService({
    lasting: true,
    config: { gateway: { servers: { away: { command: '/nowhere/x' }, pinned, secret } } },
  });
  owner = await person();
  stranger = await person();
  admin = await t.admin();
  adminsAgent = await t.agent(admin, { permissions: [{ resource: 'legate:events', actions: ['read'] }] });
  const tenantId = await t.tenant();
  colleague = await t.user({ tenantId });
  await ok('PATCH', `/users/${owner.id}`, admin, { tenantId });
  const grant = await tokens(t, owner, await register(t), { scope: 'events:read' });
  // All later events have a later timestamp.
  t.clock.advance(1000);
  since = new Date(t.clock.now()).toISOString();
  Object.assign(tokenOf, {
    owner: owner.token,
    'API token of the owner': await t.apiToken(owner.id),
    'API token for events': await t.apiToken(owner.id, ['events:read']),
    'access token of the owner': grant.access_token,
    'gateway agent': owner.gateway.token,
    'agent itself': owner.main.token,
    'another agent': owner.other.token,
    'somebody of the same tenant': colleague.token,
    stranger: stranger.token,
    'gateway agent of the stranger': stranger.gateway.token,
    'agent of the stranger': stranger.main.token,
    admin: admin.token,
    'gateway agent of an admin': adminsAgent.token,
  });
  for (const [name, as] of Object.entries(tokenOf)) live[name] = await openStream(t, { as });
  await everything(owner);
  await everything(stranger);
  await t.call('POST', '/sign-in', { body: { email: 'nobody@example.com', password: 'x' } });
  t.clock.advance(1);
  await t.authorize(adminsAgent, { action: 'read', resource: 'x' });
  t.clock.advance(-1);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  // By the time one principal has all events, events wrongly sent to others would have arrived too.
  await (live['admin'] as Stream).events((await committed()).length);
});

describe('every type of event', () => {
  it('is emitted with its exact fields, identical on the stream and in the list', async () => {
    const all = (live['owner'] as Stream).seen;
    await (live['owner'] as Stream).until(() => all.some((e) => e.event === 'anomaly.detected'));
    const listed: Json[] = await ok('GET', '/events?limit=1000', owner);
    for (const type of ADMINISTRATION) {
      const events = (live['admin'] as Stream).seen.filter((e) => e.event === type);
      expect(events.length, type).toBeGreaterThan(0);
      for (const { data: record } of events) {
        expect(record.data, type).toEqual(PAYLOADS[type as EventType]);
        expect(record.actor, type).toEqual(
          expect.objectContaining({ kind: text, id: type === 'client.created' ? null : text }),
        );
        // The record of an erasure does not contain the erased data.
        if (type === 'audit.erased') expect(record).not.toHaveProperty('before');
        else expect(record, type).toHaveProperty(/created$/.test(type) ? 'after' : 'before');
        expect(JSON.stringify(record)).not.toContain('a-secret');
      }
    }
    for (const type of (Object.keys(EVENT_TYPES) as EventType[]).filter(
      (name) => !ADMINISTRATION.has(name) && !SEALING.has(name),
    )) {
      const events = all.filter((e) => e.event === type);
      expect(events.length, type).toBeGreaterThan(0);
      for (const { id, data: record } of events) {
        expect(record.data, type).toEqual(PAYLOADS[type]);
        const about = /^(auth|session|token|user|webhook)\./.test(type)
          ? {}
          : { agentId: type === 'gateway.call' ? owner.main.id : (record.data.agentId ?? record.data.fromAgent) };
        const { actor, before, after, ...rest } = record;
        expect(rest).toEqual({ id, type, timestamp: time, data: record.data, ...about, userId: owner.id });
        expect(actor, type).toEqual(type === 'audit' ? undefined : expect.objectContaining({ kind: text }));
        expect([type, before !== undefined || after !== undefined]).toEqual([type, !WITHOUT_FIELDS.test(type)]);
        const fields = FIELDS[type];
        if (fields) expect([type, before, after]).toEqual([type, ...fields]);
        expect(listed.find((e) => e.id === id)).toEqual(record);
        if (type === 'audit') expect(await ok('GET', `/audit/${record.data.id}`, owner)).toEqual(record.data);
      }
    }
    expect(Object.keys(PAYLOADS).sort()).toEqual(Object.keys(EVENT_TYPES).sort());
  });

  it('shows auth.failed for an unknown email address to administrators only', async () => {
    const failed = (live['admin'] as Stream).seen.filter((e) => e.event === 'auth.failed').at(-1);
    const emailHash = createHash('sha256').update('nobody@example.com').digest('hex');
    expect(failed?.data).toEqual({
      id: text,
      type: 'auth.failed',
      timestamp: time,
      data: { emailHash, method: 'password', reason: 'INVALID_EMAIL_OR_PASSWORD', ipAddress: text },
      actor: { kind: 'user', id: null, ip: text },
    });
    for (const [name, stream] of Object.entries(live))
      expect(stream.seen.some((e) => e.id === failed?.id)).toBe(name === 'admin');
  });
});

describe('every principal sees exactly its own events of every type', () => {
  const ofAgent = (agent: () => TestAgent) => (row: Row) => row.agent_id === agent().id;
  const ofUser = (user: () => TestUser) => (row: Row) => row.user_id === user().id;
  const MAY: Record<string, (row: Row) => boolean> = {
    owner: ofUser(() => owner),
    'API token of the owner': ofUser(() => owner),
    'API token for events': ofUser(() => owner),
    'access token of the owner': ofUser(() => owner),
    'gateway agent': ofUser(() => owner),
    'agent itself': ofAgent(() => owner.main),
    'another agent': ofAgent(() => owner.other),
    'somebody of the same tenant': () => false,
    stranger: ofUser(() => stranger),
    'gateway agent of the stranger': ofUser(() => stranger),
    'agent of the stranger': ofAgent(() => stranger.main),
    admin: () => true,
    'gateway agent of an admin': ofUser(() => admin),
  };

  it.each(Object.keys(MAY))('%s', async (name) => {
    const rows = await committed();
    const mine = rows.filter(MAY[name] as (row: Row) => boolean).map((row) => row.id);
    if (name === 'owner' || name === 'stranger')
      expect(new Set(rows.filter((row) => mine.includes(row.id)).map((row) => row.type))).toEqual(
        new Set(Object.keys(EVENT_TYPES).filter((type) => !ADMINISTRATION.has(type) && !SEALING.has(type))),
      );
    const as = tokenOf[name] as string;
    const stream = live[name] as Stream;
    await stream.events(mine.length);
    expect(stream.seen.map((e) => e.id)).toEqual(mine);
    const replayed = await openStream(t, { as, query: { since } });
    await replayed.events(mine.length);
    const listed = await t.call('GET', `/events?limit=1000&since=${since}`, { as });
    expect(listed.body.map((e: Json) => e.id)).toEqual([...mine].reverse());
    // When the list was answered, a replayed event would already have arrived.
    expect(replayed.seen.map((e) => e.id)).toEqual(mine);
    await replayed.close();
  });
});
