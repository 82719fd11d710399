import { chunk } from '../kernel/chunk.ts';
import { newId } from '../kernel/ids.ts';
import type { Db, StreamEventRow } from '../storage/index.ts';
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
  for (const rows of chunk(
    committed.map((event, i) => eventColumns(event, firstSeq + records.length + i, now)),
    ROWS_AT_ONCE,
  ))
    await insert.values(rows).execute();
  return committed;
}
