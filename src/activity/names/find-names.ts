import type { Caller } from '../../access/caller.ts';
import { type Access, isNarrowed, type OwnResource, type Principal, type Visibility } from '../../access/principal.ts';
import { visibilityOf } from '../../access/visibility.ts';
import { whereVisible } from '../../access/where-visible.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import { asId, type Id, type IdKind, isId, timeOfId } from '../../kernel/ids.ts';
import { parseDevice } from '../../people/sessions/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { rowIds } from '../audit/index.ts';
import type { Named } from './schema.ts';

interface Seeing {
  readonly visibility: Visibility;
  readonly principal: Principal;
  /** How far the caller sees agents; undefined: not at all. */
  readonly agents: Visibility | undefined;
}

type Found = { readonly id: string; readonly name: string | null };
/** Finds the names of those of these ids that the caller may see. */
type Find<K extends IdKind> = (db: Db, ids: readonly Id<K>[], seeing: Seeing, platform: Platform) => Promise<Found[]>;

const agents: Find<'agent'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind === 'owner') query = query.where('owner_id', '=', visibility.userId);
  if (visibility.kind === 'agent') query = query.where('id', '=', visibility.agentId);
  return query.execute();
};

function sees(visibility: Visibility, agentId: Id<'agent'> | null, ownerId: Id<'user'> | null): boolean {
  if (visibility.kind === 'all') return true;
  return visibility.kind === 'owner' ? ownerId === visibility.userId : agentId === visibility.agentId;
}

/** People see their own account. Callers that see everything see every account. */
const users: Find<'user'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('users').select(['id', 'name', 'email']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('id', '=', visibility.userId);
  return query.execute().then((rows) => rows.map(({ id, name, email }) => ({ id, name: name ?? email })));
};

const NO_TENANT = asId('tenant', '');

const tenants: Find<'tenant'> = (db, ids, { visibility, principal }) => {
  let query = db.selectFrom('tenants').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all')
    query = query.where('id', '=', principal.kind === 'user' ? (principal.tenantId ?? NO_TENANT) : NO_TENANT);
  return query.execute();
};

/** Agents whose names a narrowed credential may not see are shown by their ids, as in the delegation itself. */
const delegations: Find<'delegation'> = async (db, ids, { visibility, principal, agents: seen }) => {
  let query = db
    .selectFrom('delegations')
    .innerJoin('agents as source', 'source.id', 'delegations.from_agent')
    .innerJoin('agents as target', 'target.id', 'delegations.to_agent')
    .select(['delegations.id', 'from_agent', 'from_owner', 'source.name as from_name'])
    .select(['to_agent', 'to_owner', 'target.name as to_name'])
    .where('delegations.id', 'in', ids);
  if (visibility.kind === 'owner')
    query = query.where((eb) =>
      eb.or([eb('from_owner', '=', visibility.userId), eb('to_owner', '=', visibility.userId)]),
    );
  if (visibility.kind === 'agent')
    query = query.where((eb) =>
      eb.or([eb('from_agent', '=', visibility.agentId), eb('to_agent', '=', visibility.agentId)]),
    );
  const nameOf = (id: Id<'agent'>, ownerId: Id<'user'>, name: string): string =>
    isNarrowed(principal) && !(seen && sees(seen, id, ownerId)) ? id : name;
  return (await query.execute()).map((row) => {
    const source = nameOf(row.from_agent, row.from_owner, row.from_name);
    return { id: row.id, name: `${source} → ${nameOf(row.to_agent, row.to_owner, row.to_name)}` };
  });
};

const clients: Find<'client'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('oauth_clients').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all')
    query = query.where('id', 'in', (eb) =>
      eb.selectFrom('oauth_grants').select('client_id').where('user_id', '=', visibility.userId),
    );
  return query.execute();
};

const grants: Find<'grant'> = (db, ids, { visibility }) => {
  let query = db
    .selectFrom('oauth_grants')
    .innerJoin('oauth_clients', 'oauth_clients.id', 'oauth_grants.client_id')
    .select(['oauth_grants.id', 'oauth_clients.name'])
    .where('oauth_grants.id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('oauth_grants.user_id', '=', visibility.userId);
  return query.execute();
};

/** Only for callers that see everything. */
const servers: Find<'mcpServer'> = async (db, ids, { visibility }) =>
  visibility.kind === 'all' ? db.selectFrom('mcp_servers').select(['id', 'name']).where('id', 'in', ids).execute() : [];

/** Only for callers that see everything. */
const invites: Find<'invite'> = async (db, ids, { visibility }) =>
  visibility.kind === 'all'
    ? db.selectFrom('invites').select(['id', 'email as name']).where('id', 'in', ids).execute()
    : [];

const apiTokens: Find<'apiToken'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('api_tokens').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return query.execute();
};

/** Shows only the origin of the URL, because paths can be secrets. */
const webhooks: Find<'webhook'> = async (db, ids, { visibility }) => {
  let query = db.selectFrom('webhooks').select(['id', 'url']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, url }) => ({ id, name: new URL(url).origin }));
};

const approvals: Find<'approval'> = async (db, ids, { visibility }) => {
  const rows = await db
    .selectFrom('approvals')
    .select(['id', 'action', 'resource'])
    .where('id', 'in', ids)
    .where(whereVisible(visibility))
    .execute();
  return rows.map(({ id, action, resource }) => ({ id, name: `${action} ${resource}` }));
};

const budgets: Find<'budget'> = async (db, ids, { visibility }) => {
  let query = db.selectFrom('budgets').select(['id', 'metric', 'window_kind']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, metric, window_kind }) => ({ id, name: `${metric} per ${window_kind}` }));
};

const costs: Find<'cost'> = async (db, ids, { visibility }) => {
  const rows = await db
    .selectFrom('costs')
    .select(['id', 'amount', 'currency'])
    .where('id', 'in', ids)
    .where(whereVisible(visibility))
    .execute();
  return rows.map(({ id, amount, currency }) => ({ id, name: `${amount} ${currency}` }));
};

const anomalies: Find<'anomaly'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('anomalies').select(['id', 'kind as name']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return query.execute();
};

const deliveries: Find<'delivery'> = (db, ids, { visibility }) => {
  let query = db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_deliveries.webhook_id')
    .select(['webhook_deliveries.id', 'webhook_deliveries.type as name'])
    .where('webhook_deliveries.id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('webhooks.user_id', '=', visibility.userId);
  return query.execute();
};

const passkeys: Find<'passkey'> = (db, ids, { visibility }) => {
  let query = db.selectFrom('passkeys').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return query.execute();
};

/** Browser and system; only with `multiSession.trackDevice` are they known. */
const sessions: Find<'session'> = async (db, ids, { visibility }) => {
  let query = db.selectFrom('sessions').select(['id', 'user_agent']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, user_agent }) => {
    const { browser, os } = parseDevice(user_agent);
    return { id, name: [browser, os].filter((part) => part !== 'unknown').join(', ') || null };
  });
};

const trust: Find<'trust'> = (db, ids, { visibility }) => {
  let query = db
    .selectFrom('agent_trust')
    .innerJoin('agents', 'agents.id', 'agent_trust.agent_id')
    .select(['agent_trust.id', 'agent_trust.subject as name'])
    .where('agent_trust.id', 'in', ids);
  if (visibility.kind === 'owner') query = query.where('agents.owner_id', '=', visibility.userId);
  if (visibility.kind === 'agent') query = query.where('agents.id', '=', visibility.agentId);
  return query.execute();
};

/** Only for callers that see everything. */
const issuers: Find<'issuer'> = async (db, ids, { visibility }) =>
  visibility.kind === 'all' ? db.selectFrom('issuers').select(['id', 'name']).where('id', 'in', ids).execute() : [];

/** Only for callers that see everything. */
const scimGroups: Find<'scimGroup'> = async (db, ids, { visibility }) =>
  visibility.kind === 'all'
    ? db.selectFrom('scim_groups').select(['id', 'display_name as name']).where('id', 'in', ids).execute()
    : [];

/** Decisions are named by action and resource, other events by their type. */
const ledgerRows: Find<'audit' | 'event'> = async (_, ids, { visibility }, { reader }) => {
  const found: Found[] = [];
  for (const id of ids)
    for (const rowId of rowIds(id)) {
      const row = await reader.byId(rowId, timeOfId(rowId));
      if (!row || !sees(visibility, row.agent_id, row.user_id)) continue;
      found.push({ id, name: row.type === 'audit' ? row.action && `${row.action} ${row.resource}` : row.type });
    }
  return found;
};

type NamedKind = Exclude<IdKind, 'request'>;

const FIND: { readonly [K in NamedKind]: Find<K> } = {
  agent: agents,
  user: users,
  tenant: tenants,
  delegation: delegations,
  apiToken: apiTokens,
  invite: invites,
  mcpServer: servers,
  client: clients,
  grant: grants,
  webhook: webhooks,
  approval: approvals,
  budget: budgets,
  audit: ledgerRows,
  event: ledgerRows,
  session: sessions,
  passkey: passkeys,
  delivery: deliveries,
  cost: costs,
  anomaly: anomalies,
  issuer: issuers,
  trust,
  scimGroup: scimGroups,
};

const read = (resource: OwnResource, self: boolean, scope?: string): Access => ({
  resource,
  action: 'read',
  self,
  ...(scope === undefined ? {} : { scope }),
});

/** Who may GET what has such an id. Everything else is for people only. */
export const READERS: { readonly [K in NamedKind]?: Access } = {
  agent: read('legate:agents', true, 'agents:read'),
  trust: read('legate:agents', true, 'agents:read'),
  delegation: read('legate:delegations', true, 'delegations:read'),
  audit: read('legate:audit', true, 'audit:read'),
  anomaly: read('legate:audit', false, 'audit:read'),
  event: read('legate:events', true, 'events:read'),
  cost: read('legate:costs', true),
  approval: read('legate:approvals', true),
  budget: read('legate:budgets', false),
  webhook: read('legate:webhooks', false),
  delivery: read('legate:webhooks', false),
};

/** Returns how far the caller sees what has such an id; undefined: not at all. */
function visibilityOfKind(
  platform: Platform,
  { principal, visibility }: Pick<Caller, 'visibility' | 'principal'>,
  kind: NamedKind,
): Promise<Visibility | undefined> | Visibility {
  // Only the embedding application has no principal here.
  if (principal.kind === 'anonymous') return visibility;
  return visibilityOf(platform, principal, READERS[kind] ?? 'user', 'none').catch((error: unknown) => {
    if (error instanceof LegateError && error.code === CommonErrors.FORBIDDEN.code) return undefined;
    throw error;
  });
}

/**
 * Returns the names of those of these ids that exist, have a name and could be read by the caller with a GET, in the
 * order of `ids`.
 */
export async function findNames(
  platform: Platform,
  caller: Pick<Caller, 'visibility' | 'principal'>,
  ids: readonly string[],
): Promise<Named[]> {
  const found = new Map<string, Named>();
  const seen = await visibilityOfKind(platform, caller, 'agent');
  const findOfKind = async <K extends NamedKind>(kind: K): Promise<void> => {
    const some = ids.filter((id): id is Id<K> => isId(kind, id));
    if (some.length === 0) return;
    const visibility = await visibilityOfKind(platform, caller, kind);
    if (!visibility) return;
    const seeing = { visibility, principal: caller.principal, agents: seen };
    for (const { id, name } of await FIND[kind](platform.database.read, some, seeing, platform))
      if (name !== null) found.set(id, { id, kind, name });
  };
  for (const kind of Object.keys(FIND) as NamedKind[]) await findOfKind(kind);
  return ids.flatMap((id) => found.get(id) ?? []);
}
