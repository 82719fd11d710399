import { hash } from 'node:crypto';
import type { Actor } from '../../access/actor.ts';
import type { Visibility } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { yieldOnce } from '../../kernel/yield-once.ts';
import type { Platform } from '../../platform.ts';
import { type ChangeRow, type Database, selectArrays } from '../../storage/index.ts';
import type { ChangeFilter, ListChanges, RecordedChange } from './schema.ts';

/** Index rows that one query reads. Other work runs between two queries. */
const SCAN = 2000;

export interface ChangePage {
  readonly changes: RecordedChange[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Changes that a caller may see, newest first. Throws 400 for a cursor of another query. */
export async function listChanges(
  { database, reader }: Pick<Platform, 'database' | 'reader'>,
  visibility: Visibility,
  { limit, cursor, ...filter }: ListChanges,
): Promise<ChangePage> {
  const from = filter.since === undefined ? 0 : await reader.seqAt(filter.since);
  const end = filter.until === undefined ? Number.MAX_SAFE_INTEGER : await reader.seqAt(filter.until);
  const before = cursor === undefined ? end : Math.min(end, readCursor(cursor, filter));
  const seqs = await findSeqs(database, visibility, filter, { from, before, limit: limit + 1 });
  const shown = seqs.slice(0, limit);
  const rows =
    shown.length === 0
      ? []
      : await database.read
          .selectFrom('changes')
          .selectAll()
          .where('seq', 'in', shown)
          .orderBy('seq', 'desc')
          .execute();
  const last = shown.at(-1);
  return {
    changes: rows.map((row) => toChange(row, visibility)),
    next: seqs.length > limit && last !== undefined ? writeCursor(last, filter) : undefined,
  };
}

type IndexRow = [seq: number, type: string, agentId: string | null, userId: string | null, actorId: string | null];

/**
 * Finds sequences by the most selective condition, each of which has an index, and compares the others row by row, in
 * queries of limited length.
 */
async function findSeqs(
  database: Database,
  visibility: Visibility,
  { subject, actor, type }: ChangeFilter,
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
    for (const [seq, rowType, rowAgent, rowUser, rowActor] of rows)
      if (
        (type === undefined || type.some((one) => one === rowType)) &&
        (actor === undefined || (rowActor !== null && actor.includes(rowActor))) &&
        (agentId === undefined || rowAgent === agentId) &&
        (userId === undefined || rowUser === userId) &&
        // A change with several of the wanted subjects has several rows, one after the other.
        found.at(-1) !== Number(seq)
      )
        found.push(Number(seq));
    const last = rows.at(-1);
    if (rows.length < SCAN || !last) break;
    top = Number(last[0]);
    await yieldOnce();
  }
  return found.slice(0, limit);
}

/** An agent does not see the addresses of people. */
function toChange(row: ChangeRow, visibility: Visibility): RecordedChange {
  const { actor, before, after } = JSON.parse(row.change ?? '{}') as {
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
    data: JSON.parse(row.data) as Record<string, unknown>,
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
