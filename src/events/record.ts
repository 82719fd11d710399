import { toJsonText } from '../audit/index.ts';
import type { Commit } from '../ledger/index.ts';
import { isoTime } from '../lib/clock.ts';
import type { StreamEventRow } from '../storage/index.ts';

/** One event on its way to streams: who may see it, and its bytes, made once for all of them. */
export interface Frame {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  /** The whole record as JSON (specification 2.7, contract 13). */
  readonly json: string;
  /** `id:`, `event:` and `data:` (HTML, section 9.2). */
  readonly wire: string;
}

/** On the stream every event is `evt_...`, an audit entry too. */
export const eventId = (id: string): string => (id.startsWith('aud_') ? `evt_${id.slice(4)}` : id);

const text = (value: string): string => JSON.stringify(value);

export function toFrame(row: StreamEventRow): Frame {
  const id = eventId(row.id);
  const data = row.type === 'audit' ? toJsonText(row) : (row.data ?? '{}');
  const json = `{"id":"${id}","type":"${row.type}","timestamp":"${isoTime(row.timestamp)}","data":${data}${row.agent_id === null ? '' : `,"agentId":${text(row.agent_id)}`}${
    row.user_id === null ? '' : `,"userId":${text(row.user_id)}`
  }}`;
  return { seq: row.seq, id, type: row.type, agentId: row.agent_id, userId: row.user_id, json, wire: `id: ${id}\nevent: ${row.type}\ndata: ${json}\n\n` };
}

const NOTHING = {
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
};

/** The rows that a commit of this instance appended, as the database has them. */
export function rowsOf({ firstSeq, records, events, timestamp }: Commit): StreamEventRow[] {
  const rows: StreamEventRow[] = records.map((r, i) => ({
    seq: firstSeq + i,
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
  }));
  for (const [i, e] of events.entries())
    rows.push({
      ...NOTHING,
      seq: firstSeq + records.length + i,
      id: e.id,
      type: e.type,
      timestamp,
      agent_id: e.agentId ?? null,
      user_id: e.userId ?? null,
      data: JSON.stringify(e.data),
    });
  return rows;
}
