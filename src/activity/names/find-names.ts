import type { Caller } from '../../access/caller.ts';
import { isNarrowed, type Principal, type Visibility } from '../../access/principal.ts';
import { type IdKind, isId } from '../../kernel/ids.ts';
import type { Db } from '../../storage/index.ts';
import type { Named } from './schema.ts';

interface Seeing {
  readonly visibility: Visibility;
  readonly principal: Principal;
}

type Found = { readonly id: string; readonly name: string | null };
/** Finds the names of those of these ids that the caller may see. */
type Find = (db: Db, ids: readonly string[], seeing: Seeing) => Promise<Found[]>;

const agents: Find = (db, ids, { visibility }) => {
  let query = db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind === 'owner') query = query.where('owner_id', '=', visibility.userId);
  if (visibility.kind === 'agent') query = query.where('id', '=', visibility.agentId);
  return query.execute();
};

/** People see their own account. Callers that see everything see every account. */
const users: Find = (db, ids, { visibility }) => {
  let query = db.selectFrom('users').select(['id', 'name', 'email']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('id', '=', visibility.userId);
  return query.execute().then((rows) => rows.map(({ id, name, email }) => ({ id, name: name ?? email })));
};

const tenants: Find = (db, ids, { visibility, principal }) => {
  let query = db.selectFrom('tenants').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all')
    query = query.where('id', '=', principal.kind === 'user' ? (principal.tenantId ?? '') : '');
  return query.execute();
};

const delegations: Find = async (db, ids, { visibility }) => {
  let query = db
    .selectFrom('delegations')
    .innerJoin('agents as source', 'source.id', 'delegations.from_agent')
    .innerJoin('agents as target', 'target.id', 'delegations.to_agent')
    .select(['delegations.id', 'source.name as source', 'target.name as target'])
    .where('delegations.id', 'in', ids);
  if (visibility.kind !== 'all')
    query = query.where((eb) =>
      eb.or([eb('from_owner', '=', visibility.userId), eb('to_owner', '=', visibility.userId)]),
    );
  return (await query.execute()).map(({ id, source, target }) => ({ id, name: `${source} → ${target}` }));
};

const clients: Find = (db, ids, { visibility }) => {
  let query = db.selectFrom('oauth_clients').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all')
    query = query.where('id', 'in', (eb) =>
      eb.selectFrom('oauth_grants').select('client_id').where('user_id', '=', visibility.userId),
    );
  return query.execute();
};

const grants: Find = (db, ids, { visibility }) => {
  let query = db
    .selectFrom('oauth_grants')
    .innerJoin('oauth_clients', 'oauth_clients.id', 'oauth_grants.client_id')
    .select(['oauth_grants.id', 'oauth_clients.name'])
    .where('oauth_grants.id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('oauth_grants.user_id', '=', visibility.userId);
  return query.execute();
};

/** Only for callers that see everything. */
const servers: Find = async (db, ids, { visibility }) =>
  visibility.kind === 'all' ? db.selectFrom('mcp_servers').select(['id', 'name']).where('id', 'in', ids).execute() : [];

/** Only for callers that see everything. */
const invites: Find = async (db, ids, { visibility }) =>
  visibility.kind === 'all'
    ? db.selectFrom('invites').select(['id', 'email as name']).where('id', 'in', ids).execute()
    : [];

const apiTokens: Find = (db, ids, { visibility }) => {
  let query = db.selectFrom('api_tokens').select(['id', 'name']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return query.execute();
};

/** Shows only the origin of the URL, because paths can be secrets. */
const webhooks: Find = async (db, ids, { visibility }) => {
  let query = db.selectFrom('webhooks').select(['id', 'url']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, url }) => ({ id, name: new URL(url).origin }));
};

const approvals: Find = async (db, ids, { visibility }) => {
  let query = db.selectFrom('approvals').select(['id', 'action', 'resource']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, action, resource }) => ({ id, name: `${action} ${resource}` }));
};

const budgets: Find = async (db, ids, { visibility }) => {
  let query = db.selectFrom('budgets').select(['id', 'metric', 'window_kind']).where('id', 'in', ids);
  if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
  return (await query.execute()).map(({ id, metric, window_kind }) => ({ id, name: `${metric} per ${window_kind}` }));
};

const FIND: Readonly<Partial<Record<IdKind, Find>>> = {
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
};

/**
 * Returns the names of those of these ids that exist, have a name and are visible to the caller, in the order of `ids`.
 * A narrowed credential, and an agent, sees the names of agents only.
 */
export async function findNames(
  db: Db,
  seeing: Pick<Caller, 'visibility' | 'principal'>,
  ids: readonly string[],
): Promise<Named[]> {
  const kinds = isNarrowed(seeing.principal) ? (['agent'] as const) : (Object.keys(FIND) as IdKind[]);
  const found = new Map<string, Named>();
  for (const kind of kinds) {
    const some = ids.filter((id) => isId(kind, id));
    const find = FIND[kind];
    if (some.length === 0 || !find) continue;
    for (const { id, name } of await find(db, some, seeing)) if (name !== null) found.set(id, { id, kind, name });
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}
