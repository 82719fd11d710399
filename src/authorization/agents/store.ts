import { sql } from 'kysely';
import type { Visibility } from '../../access/principal.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import { searchWords, wordPattern } from '../../kernel/search-words.ts';
import type { Platform } from '../../platform.ts';
import { type AgentRow, type Database, type Db, preparedByIds, selectTexts } from '../../storage/index.ts';
import { agentsOfStatus } from './agent-state.ts';
import { AgentErrors } from './errors.ts';
import { type AgentFilter, isAgentId } from './schema.ts';
import type { Position } from './sort.ts';

/** Returns the agents with these ids, without those that do not exist. */
export const selectAgents = preparedByIds((db, isOneOf) =>
  db.selectFrom('agents').selectAll().where(isOneOf('id')).compile(),
);

const visible = (db: Db, visibility: Visibility) => {
  const query = db.selectFrom('agents').selectAll();
  switch (visibility.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where('owner_id', '=', visibility.userId);
    case 'agent':
      return query.where('id', '=', visibility.agentId);
  }
};

/** Throws 404 AGENT_NOT_FOUND, the same for an agent that is not visible as for one that does not exist. */
export async function getAgentRow(db: Db, visibility: Visibility, id: Id<'agent'>): Promise<AgentRow> {
  const row = isAgentId(id) ? await visible(db, visibility).where('id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw AgentErrors.AGENT_NOT_FOUND();
  return row;
}

/** The agent to change. Throws 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED. */
export async function getChangeableAgent(db: Db, visibility: Visibility, id: Id<'agent'>): Promise<AgentRow> {
  const row = await getAgentRow(db, visibility, id);
  if (row.revoked_at !== null) throw AgentErrors.AGENT_REVOKED();
  return row;
}

export interface Page<After = Id<'agent'>> {
  readonly filter: AgentFilter;
  /** Last agent on the previous page. */
  readonly after: After | undefined;
  readonly limit: number;
  readonly descending?: boolean;
}

/** The columns of an agent that a list shows without reading its permissions. */
export const SUMMARY_COLUMNS = [
  'id',
  'owner_id',
  'name',
  'name_key',
  'type',
  'revoked_at',
  'expires_at',
  'created_at',
  'updated_at',
  'created_by',
  'permission_count',
  'unbounded',
] as const satisfies readonly (keyof AgentRow)[];

/** A row of a list: with all columns, or with those of the summary. */
export type ListedAgent = Pick<AgentRow, (typeof SUMMARY_COLUMNS)[number]>;

type Columns = readonly (keyof AgentRow)[] | undefined;

function matching(db: Db, visibility: Visibility, filter: AgentFilter, now: number) {
  const { status, type, tenantId, ownerId, q, ids, expiresBefore } = filter;
  let query = db.selectFrom('agents');
  if (visibility.kind === 'owner') query = query.where('owner_id', '=', visibility.userId);
  if (visibility.kind === 'agent') query = query.where('id', '=', visibility.agentId);
  if (type !== undefined) query = query.where('type', 'in', type);
  if (tenantId !== undefined) query = query.where('tenant_id', 'in', tenantId);
  if (ownerId !== undefined) query = query.where('owner_id', 'in', ownerId);
  if (status !== undefined) query = query.where((eb) => eb.or(status.map((one) => agentsOfStatus(one, now))));
  if (ids !== undefined) query = query.where('id', 'in', ids);
  if (expiresBefore !== undefined) query = query.where('expires_at', '<', expiresBefore);
  for (const word of q === undefined ? [] : searchWords(q))
    query = query.where(sql<boolean>`name_key like ${wordPattern(word)} escape '\\'`);
  return query;
}

const selected = (query: ReturnType<typeof matching>, columns: Columns) =>
  columns === undefined ? query.selectAll() : query.select(columns);

/** Agents in order of creation, which is the order of ids, because ids begin with the time. */
export function findAgents(db: Db, visibility: Visibility, page: Page, now: number): Promise<AgentRow[]>;
export function findAgents(
  db: Db,
  visibility: Visibility,
  page: Page,
  now: number,
  columns: Columns,
): Promise<ListedAgent[]>;
export function findAgents(
  db: Db,
  visibility: Visibility,
  { filter, after, limit, descending }: Page,
  now: number,
  columns?: Columns,
): Promise<ListedAgent[]> {
  let query = selected(matching(db, visibility, filter, now), columns);
  if (after !== undefined) query = query.where('id', descending ? '<' : '>', after);
  return query
    .orderBy('id', descending ? 'desc' : 'asc')
    .limit(limit)
    .execute();
}

/** Agents in order of the words of their names. */
export function findAgentsByName(
  db: Db,
  visibility: Visibility,
  { filter, after, limit, descending }: Page<Position>,
  now: number,
  columns: Columns,
): Promise<ListedAgent[]> {
  const direction = descending ? 'desc' : 'asc';
  let query = selected(matching(db, visibility, filter, now), columns);
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('name_key', 'id'), descending ? '<' : '>', tuple(String(after.value), after.id)),
    );
  return query.orderBy('name_key', direction).orderBy('id', direction).limit(limit).execute();
}

export async function countAgents(db: Db, visibility: Visibility, filter: AgentFilter, now: number): Promise<number> {
  const { total } = await matching(db, visibility, filter, now)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** Ids of all matching agents, in any order; with the words of their names on request. */
export function findAgentIds(
  database: Database,
  visibility: Visibility,
  filter: AgentFilter,
  now: number,
  withNames: boolean,
): Promise<(readonly [id: Id<'agent'>, nameKey?: string])[]> {
  const columns = withNames ? (['id', 'name_key'] as const) : (['id'] as const);
  return selectTexts<readonly [id: Id<'agent'>, nameKey?: string]>(
    database,
    matching(database.read, visibility, filter, now).select(columns),
    columns,
  );
}

/** Bytes of the permissions and metadata of agents, by id. Does not read them. */
export async function agentBytes(db: Db, ids: readonly Id<'agent'>[]): Promise<Map<Id<'agent'>, number>> {
  const bytes = new Map<Id<'agent'>, number>();
  for (const some of chunk(ids)) {
    const rows = db
      .selectFrom('agents')
      .select(['id', sql<number>`octet_length(permissions) + coalesce(octet_length(metadata), 0)`.as('bytes')])
      .where('id', 'in', some);
    for (const row of await rows.execute()) bytes.set(row.id, row.bytes);
  }
  return bytes;
}

/** The agents with these ids that match, in any order, with all columns. */
export async function readAgents(
  db: Db,
  visibility: Visibility,
  filter: AgentFilter,
  ids: readonly Id<'agent'>[],
  now: number,
): Promise<AgentRow[]> {
  const found: AgentRow[] = [];
  for (const some of chunk(ids))
    found.push(
      ...(await matching(db, visibility, { ...filter, ids: [...some] }, now)
        .selectAll()
        .execute()),
    );
  return found;
}

/** In any order. */
export async function findAgentsById(db: Db, ids: readonly Id<'agent'>[], columns: Columns): Promise<ListedAgent[]> {
  const found: ListedAgent[] = [];
  const all = { kind: 'all' } as const;
  for (const some of chunk(ids))
    found.push(...(await selected(matching(db, all, { ids: [...some] }, 0), columns).execute()));
  return found;
}

/**
 * Throws 422 AGENT_LIMIT_EXCEEDED if the owner has reached the limit of active agents. Exact, because changes are
 * serialised.
 */
export async function assertRoomForAgent(
  { config }: Pick<Platform, 'config'>,
  db: Db,
  ownerId: Id<'user'>,
  now: number,
): Promise<void> {
  const limit = config.agents.maxPerOwner;
  const { active } = await db
    .selectFrom('agents')
    .select((eb) => eb.fn.countAll<number>().as('active'))
    .where('owner_id', '=', ownerId)
    .where(agentsOfStatus('active', now))
    .executeTakeFirstOrThrow();
  if (active >= limit) throw AgentErrors.AGENT_LIMIT_EXCEEDED({ details: { limit } });
}

/** Throws 422 EXPIRES_AT_IN_PAST unless the time is in the future: from `expiresAt` on, an agent is expired. */
export function assertInFuture(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw AgentErrors.EXPIRES_AT_IN_PAST({ details: { path: 'expiresAt' } });
}
