import { chunk } from '../kernel/chunk.ts';
import { newId } from '../kernel/ids.ts';
import type { ChangeRow, Db, StreamEventRow } from '../storage/index.ts';
import { changeRow, isChange, subjectsOf } from './changes.ts';
import type { ActedEvent, AuditRecord, Commit, CommittedEvent } from './entry.ts';
import type { EventType } from './event-types.ts';

const NO_AUDIT = {
  action: null,
  resource: null,
  result: null,
  reason: null,
  duration_ms: null,
  tokens_cost: null,
  parameters: null,
  ip: null,
  user_agent: null,
  delegation_ids: null,
  decided: null,
} as const;

const auditRow = (r: AuditRecord, seq: number, timestamp: number): StreamEventRow => ({
  seq,
  id: r.id,
  type: 'audit',
  timestamp,
  agent_id: r.agentId,
  user_id: r.userId,
  action: r.action,
  resource: r.resource,
  result: r.result,
  reason: r.reason,
  duration_ms: r.durationMs,
  tokens_cost: r.tokensCost,
  parameters: r.parameters,
  ip: r.ip,
  user_agent: r.userAgent,
  delegation_ids: r.delegationIds,
  data: null,
  change: null,
  decided: r.decided,
});

/** The columns of an event; the others are null. */
const eventColumns = (event: CommittedEvent, seq: number, timestamp: number) => ({
  seq,
  id: event.id,
  type: event.type satisfies EventType,
  timestamp,
  agent_id: event.agentId ?? null,
  user_id: event.userId ?? null,
  data: JSON.stringify(event.data),
  change: JSON.stringify({ actor: event.actor, before: event.before, after: event.after }),
});

const eventRow = (event: CommittedEvent, seq: number, timestamp: number): StreamEventRow => ({
  ...NO_AUDIT,
  ...eventColumns(event, seq, timestamp),
});

/** Returns row `index` of a commit of this instance as the database has it: records first, then events. */
export function rowAt({ firstSeq, records, events, timestamp }: Commit, index: number): StreamEventRow {
  const record = records[index];
  return record
    ? auditRow(record, firstSeq + index, timestamp)
    : eventRow(events[index - records.length] as CommittedEvent, firstSeq + index, timestamp);
}

const ROWS_AT_ONCE = 100;

/** Appends records, then events, to the end of the ledger. Returns the events with their ids. */
export async function append(
  db: Db,
  records: readonly AuditRecord[],
  events: readonly ActedEvent[],
  firstSeq: number,
  now: number,
): Promise<CommittedEvent[]> {
  const committed = events.map((event) => ({ ...event, id: newId('event', now) }));
  const insert = db.insertInto('stream_events');
  for (const rows of chunk(
    records.map((record, i) => auditRow(record, firstSeq + i, now)),
    ROWS_AT_ONCE,
  ))
    await insert.values(rows).execute();
  const rows = committed.map((event, i) => eventColumns(event, firstSeq + records.length + i, now));
  for (const some of chunk(rows, ROWS_AT_ONCE)) await insert.values(some).execute();
  await appendChanges(db, committed, rows);
  return committed;
}

/** Keeps the events that are changes, and what they are about, for GET /changes. */
async function appendChanges(
  db: Db,
  events: readonly CommittedEvent[],
  rows: readonly ReturnType<typeof eventColumns>[],
): Promise<void> {
  const changes: ChangeRow[] = [];
  const subjects: { subject: string; seq: number }[] = [];
  for (const [i, event] of events.entries()) {
    if (!isChange(event.type)) continue;
    const row = rows[i] as ReturnType<typeof eventColumns>;
    changes.push(changeRow(event, row, row.seq, row.timestamp));
    for (const subject of subjectsOf(event)) subjects.push({ subject, seq: row.seq });
  }
  for (const some of chunk(changes, ROWS_AT_ONCE)) await db.insertInto('changes').values(some).execute();
  for (const some of chunk(subjects, ROWS_AT_ONCE)) await db.insertInto('change_subjects').values(some).execute();
}
