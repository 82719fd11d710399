import { SYSTEM } from '../../src/access/actor.ts';
import { newDelivery } from '../../src/activity/webhooks/dispatcher.ts';
import { asId, newId } from '../../src/kernel/ids.ts';
import { createSession } from '../../src/people/sessions/index.ts';
import { passkeyOf } from '../support/authenticator.ts';
import type { TestService } from '../support/service.ts';
import type { World } from '../support/world.ts';

/** The status that each kind of caller gets. */
export interface Statuses {
  /** The status for every caller, whatever the credential, of a public endpoint. */
  readonly everyone?: number;
  /** Without a credential. The default is 401. */
  readonly nobody?: number;
  /** With a credential that is unknown, in another scheme, expired or revoked. The default is 401. */
  readonly endedCredential?: number;
  /** The default of this field and of all below is 403. */
  readonly owner?: number;
  /** The default is the status of `owner`. */
  readonly ownerByCookie?: number;
  readonly anotherUser?: number;
  /** The owner's API token, narrowed to `scope`. */
  readonly narrowed?: number;
  /** The owner's API token, narrowed to a scope that this endpoint does not accept. */
  readonly narrowedToOther?: number;
  readonly agentItself?: number;
  readonly otherAgent?: number;
  /** An agent of the owner with every permission on the service's own resources. */
  readonly gatewayAgent?: number;
  readonly strangersAgent?: number;
  readonly admin?: number;
  /** The default is the status of `admin` for GET, and 403 for every other method. */
  readonly auditor?: number;
}

/** Every kind of caller, with the field of a row that contains its status. */
export const CALLERS = {
  nobody: 'nobody',
  'an invalid credential': 'endedCredential',
  'a credential in another scheme': 'endedCredential',
  'the token of a revoked agent': 'endedCredential',
  'an expired API token': 'endedCredential',
  'an expired session': 'endedCredential',
  'another user': 'anotherUser',
  'the owner': 'owner',
  'the owner by cookie': 'ownerByCookie',
  "the owner's token narrowed to the required scope": 'narrowed',
  "the owner's token narrowed to another scope": 'narrowedToOther',
  'the agent itself': 'agentItself',
  'another agent of the owner': 'otherAgent',
  'a gateway agent of the owner': 'gatewayAgent',
  "another owner's agent": 'strangersAgent',
  'an admin': 'admin',
  'an auditor': 'auditor',
} as const satisfies Record<string, keyof Statuses>;

export type Scene = World<'agent' | 'other'>;

/** An owner with two agents. The first has permissions. */
export async function newScene(t: TestService): Promise<Scene> {
  const owner = await t.user();
  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
  ];
  return { t, owner, agent: await t.agent(owner, { permissions }), other: await t.agent(owner) };
}

export const question = { action: 'read', resource: 'db:x' };
export const decided = async ({ t, agent }: Scene): Promise<string> =>
  (await t.authorize(agent, question)).body.auditId;
export const delegation = async ({ t, owner, agent, other }: Scene): Promise<string> =>
  (
    await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: agent.id, toAgent: other.id, permissions: [{ resource: 'db:*', actions: ['read'] }] },
    })
  ).body.id;
export const approval = async ({ t, agent }: Scene): Promise<string> =>
  (await t.authorize(agent, { action: 'pay', resource: 'bank:x' })).body.approvalId;
export const apiToken = async ({ t, owner }: Scene): Promise<string> =>
  (await t.call('POST', '/api-tokens', { as: owner, body: { name: 'one' } })).body.id;
export const budget = async ({ t, owner, agent }: Scene): Promise<string> =>
  (
    await t.call('POST', '/budgets', {
      as: owner,
      body: { agentId: agent.id, metric: 'calls', limit: 1000, window: 'day' },
    })
  ).body.id;
let servers = 0;
export const mcpServer = (): Record<string, unknown> => ({
  name: `server ${++servers}`,
  endpoint: `http://localhost:3000/servers/${servers}`,
  tools: ['search'],
});
export const registered = async ({ t }: Scene): Promise<string> =>
  (await t.legate.mcp.registerServer(mcpServer() as never)).id;
let issuers = 0;
export const newIssuer = (): Record<string, unknown> => ({
  name: `issuer-${++issuers}`,
  issuer: `https://issuer-${issuers}.example`,
  uses: ['workload'],
});
/** Only a few issuers are allowed, so the previous one is deleted. */
let lastIssuer: { t: TestService; id: string } | undefined;
export const issuer = async ({ t }: Scene): Promise<string> => {
  const as = await t.admin();
  if (lastIssuer?.t === t) await t.call('DELETE', `/issuers/${lastIssuer.id}`, { as });
  const { id } = (await t.call('POST', '/issuers', { as, body: newIssuer() })).body;
  lastIssuer = { t, id };
  return id;
};
const workloadIssuers = new WeakMap<TestService, Promise<string>>();
/** The issuer of workloads, one per service. */
export const workload = async ({ t }: Scene): Promise<{ issuer: string }> => {
  const made =
    workloadIssuers.get(t) ??
    t.admin().then(async (as) => {
      return (await t.call('POST', '/issuers', { as, body: newIssuer() })).body.issuer as string;
    });
  workloadIssuers.set(t, made);
  return { issuer: await made };
};
export const trust = async (s: Scene): Promise<string> => {
  const body = { ...(await workload(s)), subject: 'a:b' };
  return (await s.t.call('POST', `/agents/${s.agent.id}/trust`, { as: s.owner, body })).body.id;
};
export const AGENT_KEYS = { jwksUri: 'https://keys.example/jwks' };
/** The path of the keys of an agent that has keys. */
export const keysPath = async (s: Scene): Promise<string> => {
  const path = `/agents/${s.agent.id}/keys`;
  await s.t.call('PUT', path, { as: s.owner, body: AGENT_KEYS });
  return path;
};
/** The path of a server that was registered. */
export const registeredPath = async (s: Scene): Promise<string> => {
  await registered(s);
  return `/servers/${servers}`;
};
export const session = async ({ t, owner }: Scene): Promise<string> =>
  t.legate.platform.ledger.change(SYSTEM, async (change) => {
    const device = { ip: null, userAgent: null };
    return (await createSession(t.legate.platform, change, owner.id, device, 'test')).session.id;
  });
/** Responses of an authenticator to no challenge. */
const strayAnswer = { id: 'AA', rawId: 'AA', type: 'public-key' };
export const newPasskey = { ...strayAnswer, response: { clientDataJSON: 'e30', attestationObject: 'oA' } };
export const usedPasskey = {
  ...strayAnswer,
  response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' },
};
export const passkey = ({ t, owner }: Scene): Promise<string> => passkeyOf(t, owner);
export const invite = async ({ t, owner }: Scene): Promise<string> =>
  (await t.call('POST', '/invites', { as: await t.admin(), body: { email: `invited-${owner.email}` } })).body.id;
export const client = async ({ t }: Scene): Promise<string> =>
  (await t.call('POST', '/oauth/register', { body: { redirect_uris: ['https://app.example/callback'] } })).body
    .client_id;
export const scimGroup = async ({ t }: Scene): Promise<string> =>
  (await t.call('POST', '/scim/v2/Groups', { as: await t.admin(), body: { displayName: newId('request', 0) } })).body
    .id;
/** A grant of the owner to one of the owner's agents, inserted into the database. */
export const grant = async ({ t, owner, agent }: Scene): Promise<string> => {
  const now = t.clock.now();
  const row = {
    client_id: asId('client', 'cli_x'),
    user_id: owner.id,
    agent_id: agent.id,
    actor_id: null,
    delegation_id: null,
    parent_id: null,
    parent_jti: null,
    scope: 'mcp:read',
    resource: t.legate.baseUrl,
  };
  const id = newId('grant', now);
  await t.legate.platform.database.write
    .insertInto('oauth_grants')
    .values({
      ...row,
      id,
      kind: 'authorization_code',
      created_at: now,
      last_used_at: now,
      expires_at: now + 1e6,
      revoked_at: null,
      reason: null,
    })
    .execute();
  return id;
};
/** A webhook whose address has no listener. */
export const webhook = async ({ t, owner }: Scene): Promise<string> =>
  (await t.call('POST', '/webhooks', { as: owner, body: { url: 'http://127.0.0.1:9/in' } })).body.id;
/** A delivery that was dropped. */
export const delivery = async (s: Scene): Promise<string> => {
  const webhookId = await webhook(s);
  const now = s.t.clock.now();
  const row = newDelivery(
    now,
    asId('webhook', webhookId),
    newId('event', now),
    'audit',
    JSON.stringify({ userId: s.owner.id }),
  );
  await s.t.legate.platform.database.write
    .insertInto('webhook_deliveries')
    .values({ ...row, status: 'dropped' })
    .execute();
  return row.id;
};
/** An anomaly of the agent. */
export const anomaly = async ({ t, owner, agent }: Scene): Promise<string> => {
  const now = t.clock.now();
  const id = newId('anomaly', now);
  const what = { kind: 'denial_burst', severity: 'medium', observed: '20', expected: '20', evidence: '[]' };
  await t.legate.platform.database.write
    .insertInto('anomalies')
    .values({
      id,
      agent_id: agent.id,
      user_id: owner.id,
      ...what,
      detected_at: now,
      acknowledged_at: null,
      acknowledged_by: null,
      note: null,
    })
    .execute();
  return id;
};
