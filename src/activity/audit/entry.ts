import { isoTime } from '../../kernel/clock.ts';
import { readDecided, storedIds, storedObject } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import type { AuditEntry } from './schema.ts';

/** Converts a row of the ledger to an audit entry. */
export const toEntry = (row: StreamEventRow): AuditEntry => ({
  id: row.id,
  agentId: row.agent_id ?? '',
  userId: row.user_id ?? '',
  action: row.action ?? '',
  resource: row.resource ?? '',
  parameters: storedObject(row.parameters),
  result: row.result as AuditEntry['result'],
  durationMs: row.duration_ms ?? 0,
  tokensCost: row.tokens_cost ?? 0,
  timestamp: isoTime(row.timestamp),
  reason: row.reason,
  delegationIds: storedIds(row.delegation_ids),
  ip: row.ip,
  userAgent: row.user_agent,
  seq: row.seq,
  ...circumstancesOf(row),
});

const OWN = { type: 'own' } as const;

type Circumstances = Pick<AuditEntry, 'askedBy' | 'approvalId' | 'permission' | 'erased'>;

/** Returns the caller, the used approval, the deciding permission (contract 17.4), and whether it was erased. */
function circumstancesOf({ decided, delegation_ids }: StreamEventRow): Circumstances {
  if (decided === null) return {};
  const { askedBy, approvalId, pattern, chain, erased } = readDecided(decided);
  const delegationIds = chain ?? (delegation_ids === null ? undefined : storedIds(delegation_ids));
  const found: { -readonly [Field in keyof Circumstances]: Circumstances[Field] } = {};
  if (askedBy) found.askedBy = askedBy;
  if (approvalId !== undefined) found.approvalId = approvalId;
  if (pattern !== undefined) {
    const source = delegationIds ? { type: 'delegation' as const, delegationIds: [...delegationIds] } : OWN;
    found.permission = { resource: pattern, source };
  }
  if (erased) found.erased = true;
  return found;
}

/** The same as JSON text, to append to other members. */
function circumstancesText(row: StreamEventRow): string {
  if (row.decided === null) return '';
  const members = JSON.stringify(circumstancesOf(row)).slice(1, -1);
  return members === '' ? '' : `,${members}`;
}

const text = (value: string | null): string => (value === null ? 'null' : JSON.stringify(value));

/** Returns the entry as JSON text without parsing stored JSON. Used by exports. */
export const toJsonText = (row: StreamEventRow): string =>
  `{"id":"${row.id}","agentId":${text(row.agent_id)},"userId":${text(row.user_id)},"action":${text(row.action)},` +
  `"resource":${text(row.resource)},"parameters":${row.parameters ?? '{}'},"result":"${row.result}",` +
  `"durationMs":${row.duration_ms ?? 0},"tokensCost":${row.tokens_cost ?? 0},"timestamp":"${isoTime(row.timestamp)}",` +
  `"reason":${text(row.reason)},"delegationIds":${row.delegation_ids ?? '[]'},"ip":${text(row.ip)},` +
  `"userAgent":${text(row.user_agent)},"seq":${row.seq}${circumstancesText(row)}}`;

/** Contract 8: exactly these columns in this order. */
export const CSV_HEADER =
  'id,timestamp,agentId,userId,action,resource,result,reason,durationMs,tokensCost,parameters,ip,userAgent,' +
  'delegationIds,seq';

/** First characters that spreadsheets read as formulas, including full-width ones (ASVS 5, 1.2.10). */
const FORMULA = /^[=+\-@\t\r\n\0＝＋－＠]/;

/** RFC 4180. A cell that would be a formula gets a leading single quote. */
function cell(value: string | null): string {
  if (value === null || value === '') return '';
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const toCsvLine = (row: StreamEventRow): string =>
  `${row.id},${isoTime(row.timestamp)},${cell(row.agent_id)},${cell(row.user_id)},${cell(row.action)},` +
  `${cell(row.resource)},${row.result},${cell(row.reason)},${row.duration_ms ?? 0},${row.tokens_cost ?? 0},` +
  `${cell(row.parameters ?? '{}')},${cell(row.ip)},${cell(row.user_agent)},${cell(row.delegation_ids ?? '[]')},` +
  `${row.seq}`;
