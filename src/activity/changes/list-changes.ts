import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Actor } from '../../access/actor.ts';
import type { Visibility } from '../../access/principal.ts';
import { rowsThatFit } from '../../http/page.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { yieldOnce } from '../../kernel/yield-once.ts';
import { storedObject } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type ChangeRow, type Database, selectArrays } from '../../storage/index.ts';
import { keptChangesOf } from './kept-changes.ts';
import type { ChangeFilter, ListChanges, RecordedChange } from './schema.ts';

/** Index rows that one query reads. Other work runs between two queries. */
const SCAN = 2000;

export interface ChangePage {
  readonly changes: RecordedChange[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * Changes that a caller may see, newest first. A page ends early if it is many megabytes large. Throws 400 for a cursor
 * of another query.
 */
export async function listChanges(
  { beforeLongPage, database, reader, stateOf }: Pick<Platform, 'beforeLongPage' | 'database' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  { limit, cursor, ...filter }: ListChanges,
): Promise<ChangePage> {
  const unstored = await keptChangesOf({ stateOf }).unstored();
  const from = filter.since === undefined ? 0 : await reader.seqAt(filter.since);
  const end = filter.until === undefined ? Number.MAX_SAFE_INTEGER : await reader.seqAt(filter.until);
  const before = cursor === undefined ? end : Math.min(end, readCursor(cursor, filter));
  const isWanted = condition(visibility, filter);
  const newest = unstored
    .filter(
      ({ change, subjects }) =>
        change.seq >= from &&
        change.seq < before &&
        isWanted(change) &&
        (filter.subject === undefined || subjects.some(({ subject }) => filter.subject?.includes(subject))),
    )
    .map(({ change }) => change)
    .reverse();
  const older = await findSeqs(database, visibility, filter, isWanted, {
    from,
    before: Math.min(before, unstored[0]?.change.seq ?? before),
    limit: Math.max(0, limit + 1 - newest.length),
  });
  const seqs = [...newest.map(({ seq }) => seq), ...older];
  const bytes = await bytesOf(database, older);
  for (const { seq, data, change } of newest) bytes.set(seq, data.length + (change?.length ?? 0));
  const fitting = rowsThatFit(seqs.slice(0, limit).map((seq) => bytes.get(seq) ?? 0));
  await beforeLongPage(fitting.bytes);
  const shown = seqs.slice(0, fitting.rows);
  const stored = shown.slice(newest.length);
  const last = shown.at(-1);
  const rows = [
    ...newest.slice(0, shown.length),
    ...(stored.length === 0
      ? []
      : await database.read
          .selectFrom('changes')
          .selectAll()
          .where('seq', 'in', stored)
          .orderBy('seq', 'desc')
          .execute()),
  ];
  return {
    changes: rows.map((row) => toChange(row, visibility)),
    next: seqs.length > shown.length && last !== undefined ? writeCursor(last, filter) : undefined,
  };
}

/** Bytes of stored changes by sequence number. Does not read them. */
async function bytesOf(database: Database, seqs: readonly number[]): Promise<Map<number, number>> {
  const bytes = new Map<number, number>();
  const size = sql<number>`octet_length(data) + coalesce(octet_length(change), 0)`.as('bytes');
  for (const some of chunk(seqs))
    for (const [seq, length] of await selectArrays<[number, number]>(
      database,
      database.read.selectFrom('changes').select(['seq', size]).where('seq', 'in', some),
    ))
      bytes.set(Number(seq), Number(length));
  return bytes;
}

type IndexRow = [
  seq: number,
  type: string,
  agentId: ChangeRow['agent_id'],
  userId: ChangeRow['user_id'],
  actorId: string | null,
];
type IsWanted = (row: Pick<ChangeRow, 'type' | 'agent_id' | 'user_id' | 'actor_id'>) => boolean;

/** Returns whether a caller may see a change and has asked for it, except for its subjects. */
const condition =
  (visibility: Visibility, { actor, type }: ChangeFilter): IsWanted =>
  (row) =>
    (type === undefined || type.some((one) => one === row.type)) &&
    (actor === undefined || (row.actor_id !== null && actor.includes(row.actor_id))) &&
    (visibility.kind !== 'agent' || row.agent_id === visibility.agentId) &&
    (visibility.kind !== 'owner' || row.user_id === visibility.userId);

/**
 * Finds sequences by the most selective condition, each of which has an index, and compares the others row by row, in
 * queries of limited length.
 */
async function findSeqs(
  database: Database,
  visibility: Visibility,
  { subject, actor, type }: ChangeFilter,
  isWanted: IsWanted,
  { from, before, limit }: { readonly from: number; readonly before: number; readonly limit: number },
): Promise<number[]> {
  const found: number[] = [];
  const agentId = visibility.kind === 'agent' ? visibility.agentId : undefined;
  const userId = visibility.kind === 'owner' ? visibility.userId : undefined;
  const changes = database.read
    .selectFrom('changes')
    .select(['changes.seq', 'changes.type', 'changes.agent_id', 'changes.user_id', 'changes.actor_id'])
    .where('changes.seq', '>=', from)
    .orderBy('changes.seq', 'desc')
    .limit(SCAN);
  const scan =
    subject !== undefined
      ? database.read
          .selectFrom('change_subjects as s')
          .innerJoin('changes', 'changes.seq', 's.seq')
          .select(['changes.seq', 'changes.type', 'changes.agent_id', 'changes.user_id', 'changes.actor_id'])
          .where('s.subject', 'in', subject)
          .where('s.seq', '>=', from)
          .orderBy('s.seq', 'desc')
          .limit(SCAN)
      : agentId !== undefined
        ? changes.where('agent_id', '=', agentId)
        : actor !== undefined && !actor.includes('system')
          ? changes.where('actor_id', 'in', actor)
          : userId !== undefined
            ? changes.where('user_id', '=', userId)
            : type !== undefined
              ? changes.where('changes.type', 'in', type)
              : actor !== undefined
                ? changes.where('actor_id', 'in', actor)
                : changes;
  const column = subject === undefined ? ('changes.seq' as const) : ('s.seq' as const);
  for (let top = before; found.length < limit; ) {
    const rows = await selectArrays<IndexRow>(database, scan.where(column as 'changes.seq', '<', top));
    // A change with several of the wanted subjects has several rows, one after the other.
    for (const [seq, type, agent_id, user_id, actor_id] of rows)
      if (isWanted({ type, agent_id, user_id, actor_id }) && found.at(-1) !== Number(seq)) found.push(Number(seq));
    const last = rows.at(-1);
    if (rows.length < SCAN || !last) break;
    top = Number(last[0]);
    await yieldOnce();
  }
  return found.slice(0, limit);
}

/** An agent does not see the addresses of people. */
function toChange(row: ChangeRow, visibility: Visibility): RecordedChange {
  const { actor, before, after } = storedObject(row.change) as {
    actor?: Actor;
    before?: Record<string, unknown>;
    after?: Record<string, unknown>;
  };
  const { ip, ...withoutAddress } = actor ?? { kind: 'system', id: null };
  return {
    seq: row.seq,
    id: row.id,
    type: row.type,
    timestamp: isoTime(row.timestamp),
    data: storedObject(row.data),
    ...(row.agent_id === null ? {} : { agentId: row.agent_id }),
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    ...(actor
      ? { actor: { ...withoutAddress, ...(ip === undefined || visibility.kind === 'agent' ? {} : { ip }) } }
      : {}),
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}

const fingerprint = ({ subject, actor, type, since, until }: ChangeFilter): string =>
  hash('sha256', JSON.stringify([subject, actor, type, since, until]), 'base64url').slice(0, 8);

const writeCursor = (seq: number, filter: ChangeFilter): string => `${fingerprint(filter)}.${seq}`;

function readCursor(cursor: string, filter: ChangeFilter): number {
  const [, query, seq] = /^([\w-]{8})\.([1-9]\d{0,14})$/.exec(cursor) ?? [];
  if (query === undefined || query !== fingerprint(filter))
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this query' }]);
  return Number(seq);
}
