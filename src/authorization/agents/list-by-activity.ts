import type { ActivityKey, AgentActivity, Place } from '../../access/agent-activity.ts';
import { FirstPlaces } from '../../access/first-places.ts';
import type { Visibility } from '../../access/principal.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow } from '../../storage/index.ts';
import type { AgentFilter } from './schema.ts';
import { cursorOf, isDescending, keyOf, type Position, positionOf, type Sort } from './sort.ts';
import { countAgents, findAgentIds, findAgents, findAgentsById, findAgentsByName, type ListedAgent } from './store.ts';

/** Of fewer agents, all are read and put in order. */
const FEW_AGENTS = 1000;
/** Agents that are looked up at once, in the order of the list, until the page is full. */
const CANDIDATES = 250;
/** Lookups after which all agents are read instead, because the filter leaves out most of those in front. */
const MAX_LOOKUPS = 4;

type Columns = readonly (keyof AgentRow)[] | undefined;

export interface Rows {
  readonly rows: ListedAgent[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
  readonly total: number;
}

interface Page {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

type Filter = AgentFilter & { readonly sort: Sort };

interface Question {
  readonly platform: Pick<Platform, 'clock' | 'database'>;
  readonly activity: AgentActivity;
  readonly visibility: Visibility;
  readonly filter: Filter;
  readonly limit: number;
  readonly after: Position | undefined;
  readonly columns: Columns;
}

/** Lists agents in the order of their activity, or those who are idle. Activity is in memory, all else in SQL. */
export async function findByActivity(
  { agentActivity, ...platform }: Pick<Platform, 'agentActivity' | 'clock' | 'database'>,
  visibility: Visibility,
  filter: Filter,
  page: Page,
  columns: Columns,
): Promise<Rows> {
  const { limit, cursor } = page;
  const after = positionOf(filter.sort, cursor);
  const question = { platform, visibility, filter, limit, after, columns, activity: await agentActivity() };
  return (await findInFront(question)) ?? (await findAmongAll(question));
}

/**
 * Looks up the agents in the order of the list, until the page is full. Returns undefined if that would be more work
 * than reading all.
 */
async function findInFront(question: Question): Promise<Rows | undefined> {
  const { platform, activity, visibility, filter, limit } = question;
  const db = platform.database.read;
  const now = platform.clock.now();
  if (filter.ids !== undefined) return undefined;
  const busy = filter.idleSince === undefined ? [] : activity.since(filter.idleSince, CANDIDATES * MAX_LOOKUPS);
  if (!busy) return undefined;
  let total = await countAgents(db, visibility, filter, now);
  if (total <= FEW_AGENTS) return undefined;
  for (const ids of chunk(busy)) total -= await countAgents(db, visibility, { ...filter, ids: [...ids] }, now);

  const isBusy = new Set(busy);
  const found: (readonly [Position, ListedAgent])[] = [];
  let lookups = 0;
  for await (const batch of inOrder(question, Math.max(CANDIDATES, limit + 1))) {
    for (const one of batch) if (!isBusy.has(one[1].id)) found.push(one);
    if (found.length > limit) break;
    if (++lookups === MAX_LOOKUPS) return undefined;
  }
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: shown.map(([, row]) => row),
    next: found.length > limit && last ? cursorOf(filter.sort, last[0]) : undefined,
    total,
  };
}

/** The matching agents after the cursor, in the order of the list. Each batch is one lookup. */
async function* inOrder(question: Question, size: number): AsyncGenerator<(readonly [Position, ListedAgent])[], void> {
  const { filter, after } = question;
  const key = keyOf(filter.sort);
  if (key === 'name') return yield* byName(question, size);
  if (key === 'createdAt') return yield* byCreation(question, size, after?.id, () => true);
  const isWithout = ({ id }: ListedAgent): boolean => (question.activity.of(id)[key] ?? 0) === 0;
  const afterActive = after && after.value !== 0;
  if (isDescending(filter.sort)) {
    if (!after || afterActive) yield* byActivity(question, size, key, after as Place | undefined);
    yield* byCreation(question, size, afterActive ? undefined : after?.id, isWithout);
  } else {
    if (!afterActive) yield* byCreation(question, size, after?.id, isWithout);
    yield* byActivity(question, size, key, afterActive ? (after as Place) : undefined);
  }
}

async function* byName({ platform, visibility, filter, after, columns }: Question, limit: number) {
  const db = platform.database.read;
  const descending = isDescending(filter.sort);
  for (let last = after, more = true; more; ) {
    const page = { filter, after: last, limit, descending };
    const rows = await findAgentsByName(db, visibility, page, platform.clock.now(), columns);
    const batch = rows.map((row) => [{ value: row.name_key, id: row.id }, row] as const);
    yield batch;
    last = batch.at(-1)?.[0];
    more = rows.length === limit;
  }
}

async function* byCreation(
  { platform, visibility, filter, columns }: Question,
  limit: number,
  after: Id<'agent'> | undefined,
  isListed: (row: ListedAgent) => boolean,
) {
  const db = platform.database.read;
  const descending = isDescending(filter.sort);
  for (let last = after, more = true; more; ) {
    const page = { filter, after: last, limit, descending };
    const rows = await findAgents(db, visibility, page, platform.clock.now(), columns);
    yield rows.filter(isListed).map((row) => [{ value: 0, id: row.id }, row] as const);
    last = rows.at(-1)?.id;
    more = rows.length === limit;
  }
}

/** Only agents with a decision that counts for this order. */
async function* byActivity(
  { platform, activity, visibility, filter, columns }: Question,
  limit: number,
  key: ActivityKey,
  after: Place | undefined,
) {
  const db = platform.database.read;
  const order = { key, descending: isDescending(filter.sort) };
  for (let last = after, more = true; more; ) {
    const places = activity.first(order, last, limit);
    if (places.length === 0) return;
    const page = { filter: { ...filter, ids: places.map(({ id }) => id) }, after: undefined, limit };
    const found = await findAgents(db, visibility, page, platform.clock.now(), columns);
    const byId = new Map(found.map((row) => [row.id, row]));
    yield places.flatMap((place) => {
      const row = byId.get(place.id);
      return row ? [[place, row] as const] : [];
    });
    last = places.at(-1);
    more = places.length === limit;
  }
}

/** Reads all matching agents, and puts them in order. */
async function findAmongAll({
  platform,
  activity,
  visibility,
  filter,
  limit,
  after,
  columns,
}: Question): Promise<Rows> {
  const { database, clock } = platform;
  const { sort, idleSince } = filter;
  const key = keyOf(sort);
  const matching = await findAgentIds(database, visibility, filter, clock.now(), key === 'name');
  const placedBy = (id: Id<'agent'>, nameKey: string): string | number => {
    if (key === 'name') return nameKey;
    return key === 'createdAt' ? 0 : (activity.of(id)[key] ?? 0);
  };
  const places = new FirstPlaces<Position>(isDescending(sort), after, limit);
  let total = 0;
  for (const [id, nameKey = ''] of matching) {
    if (idleSince !== undefined && (activity.of(id).lastDecisionAt ?? 0) >= idleSince) continue;
    total++;
    places.add(placedBy(id, nameKey), id);
  }
  const ids = places.first.map(({ id }) => id);
  const byId = new Map((await findAgentsById(database.read, ids, columns)).map((row) => [row.id, row]));
  const last = places.first.at(-1);
  return {
    rows: ids.flatMap((id) => byId.get(id) ?? []),
    next: places.count > ids.length && last ? cursorOf(sort, last) : undefined,
    total,
  };
}
