import { newId } from '../kernel/ids.ts';
import { bulkInsert, type Database, type Db, type StreamEventRow } from '../storage/index.ts';
import type { ActedEvent, AuditRecord, Commit, CommittedEvent } from './entry.ts';
import type { EventType } from './event-types.ts';

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

/** The columns of an event, whether in the ledger or copied from it. */
export const eventColumns = (event: CommittedEvent, seq: number, timestamp: number) => ({
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
  ...eventColumns(event, seq, timestamp),
});

/** Returns row `index` of a commit of this instance in the form of the database: records first, then events. */
export function rowAt({ firstSeq, records, events, timestamp }: Commit, index: number): StreamEventRow {
  const record = records[index];
  return record
    ? auditRow(record, firstSeq + index, timestamp)
    : eventRow(events[index - records.length] as CommittedEvent, firstSeq + index, timestamp);
}

/** The types of {@link eventColumns}, for `bulkInsert`. */
export const EVENT_COLUMNS = {
  seq: 'bigint',
  id: 'text',
  type: 'text',
  timestamp: 'bigint',
  agent_id: 'text',
  user_id: 'text',
  data: 'text',
  change: 'text',
} as const;

const insertEvents = bulkInsert('stream_events', EVENT_COLUMNS);

const insertRecords = bulkInsert('stream_events', {
  ...EVENT_COLUMNS,
  action: 'text',
  resource: 'text',
  result: 'text',
  reason: 'text',
  duration_ms: 'float8',
  tokens_cost: 'float8',
  parameters: 'text',
  ip: 'text',
  user_agent: 'text',
  delegation_ids: 'text',
  decided: 'text',
});

/** Appends records, then events, to the end of the ledger. Returns the events with their ids. */
export async function append(
  database: Database,
  db: Db,
  records: readonly AuditRecord[],
  events: readonly ActedEvent[],
  firstSeq: number,
  now: number,
): Promise<CommittedEvent[]> {
  const committed = events.map((event) => ({ id: newId('event', now), ...event }));
  await insertRecords(
    database,
    db,
    records.map((record, i) => auditRow(record, firstSeq + i, now)),
  );
  await insertEvents(
    database,
    db,
    committed.map((event, i) => eventColumns(event, firstSeq + records.length + i, now)),
  );
  return committed;
}
