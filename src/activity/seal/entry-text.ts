import { hash } from 'node:crypto';
import type { StreamEventRow } from '../../storage/index.ts';

/** The columns of a row that its entry in the tree covers. */
export type SealedRow = Omit<StreamEventRow, 'change' | 'decided'>;

/** The parts of a decision that an entry covers; the ledger's record of a decision has all of them. */
interface SealedDecision {
  readonly id: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly action: string | null;
  readonly resource: string | null;
  readonly result: string | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  readonly tokensCost: number | null;
  readonly parameters: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly delegationIds: string | null;
}

/** The parts of an event that an entry covers. `data` is the JSON text that is stored. */
interface SealedEvent {
  readonly id: string;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly data: string | null;
}

/** The rest of an entry whose private text is gone. */
export interface Remains {
  readonly type: string;
  readonly timestamp: number;
  readonly digest: string;
}

/** The texts of an entry. `private` is known only to those who may read the entry. */
export interface EntryTexts {
  readonly leaf: string;
  readonly private: string;
}

/** A value contains U+0000, which separates the fields of an entry. Nothing after this row can be sealed. */
export class UnsealableRow extends Error {
  constructor(seq: number) {
    super(`Row ${seq} of the ledger contains the character U+0000 and cannot be sealed.`);
  }
}

type Value = string | number | null;

const PRIVATE = 'legate-private-v1';
const ENTRY = 'legate-entry-v1';

/** Joins fields with U+0000. An absent value is the empty text, and numbers are as JavaScript prints them. */
function joined(seq: number, values: readonly Value[]): string {
  for (const value of values) if (typeof value === 'string' && value.includes('\0')) throw new UnsealableRow(seq);
  return values.join('\0');
}

export const digestOf = (privateText: string): string => hash('sha256', privateText, 'base64');

/** The hash of a leaf (RFC 6962, section 2.1), as latin1. */
export const leafHash = (leaf: string): string => hash('sha256', `\0${leaf}`, 'binary');

export function decisionTexts(seq: number, timestamp: number, salt: string, d: SealedDecision): EntryTexts {
  const hidden = joined(seq, [PRIVATE, salt, d.parameters, d.ip, d.userAgent]);
  return { leaf: decisionLeaf(seq, timestamp, digestOf(hidden), d), private: hidden };
}

const decisionLeaf = (seq: number, timestamp: number, digest: string, d: SealedDecision): string =>
  joined(seq, [
    ENTRY,
    'audit',
    seq,
    timestamp,
    digest,
    d.id,
    d.agentId,
    d.userId,
    d.action,
    d.resource,
    d.result,
    d.reason,
    d.durationMs,
    d.tokensCost,
    d.delegationIds,
  ]);

export function eventTexts(seq: number, timestamp: number, salt: string, event: SealedEvent): EntryTexts {
  const { id, type, agentId, userId, data } = event;
  const isOfLedger = type.startsWith('ledger.');
  const hidden = joined(seq, [PRIVATE, salt, id, agentId, userId, ...(isOfLedger ? [] : [data])]);
  const fields = [ENTRY, type, seq, timestamp, digestOf(hidden)];
  const open = isOfLedger ? [data] : type === 'audit.erased' ? erasedFields(data) : [];
  return { leaf: joined(seq, [...fields, ...open]), private: hidden };
}

/** Which parts of which rows an erasure erased is public, so that gaps can be explained. */
function erasedFields(data: string | null): string[] {
  const { what, seqs } = JSON.parse(data ?? '{}') as { what: string; seqs: string };
  return [what, seqs];
}

/** Verifiers need these events, so they are never deleted. */
export const isPermanent = (type: string): boolean => type.startsWith('ledger.') || type === 'audit.erased';

/** The texts of a stored row. The same as those made from memory when the row was committed. */
export function rowTexts(row: SealedRow, salt: string): EntryTexts {
  const { seq, timestamp } = row;
  return row.type === 'audit'
    ? decisionTexts(seq, timestamp, salt, decisionOf(row))
    : eventTexts(seq, timestamp, salt, { ...row, agentId: row.agent_id, userId: row.user_id });
}

const decisionOf = (row: SealedRow): SealedDecision => ({
  id: row.id,
  agentId: row.agent_id,
  userId: row.user_id,
  action: row.action,
  resource: row.resource,
  result: row.result,
  reason: row.reason,
  durationMs: row.duration_ms,
  tokensCost: row.tokens_cost,
  parameters: row.parameters,
  ip: row.ip,
  userAgent: row.user_agent,
  delegationIds: row.delegation_ids,
});

/** The leaf of a row that is gone, from what was kept of it. */
export const remainsLeaf = (seq: number, { type, timestamp, digest }: Remains): string =>
  joined(seq, [ENTRY, type, seq, timestamp, digest]);

/**
 * The texts of an entry, from the row, from what was kept when a part of it was deleted, and from the salt.
 * undefined: the leaf cannot be made, because the whole row was erased or its salt is gone.
 */
export function storedTexts(
  seq: number,
  row: SealedRow | undefined,
  left: Remains | undefined,
  salt: string | undefined,
): { leaf: string; private?: string } | undefined {
  if (!left && row) return salt === undefined ? undefined : rowTexts(row, salt);
  if (left?.type !== 'audit') return { leaf: remainsLeaf(seq, left ?? ABSENT) };
  return row && { leaf: decisionLeaf(seq, row.timestamp, left.digest, decisionOf(row)) };
}

/** The leaf of a row that was gone before sealing began. */
export const ABSENT: Remains = { type: 'absent', timestamp: 0, digest: '' };
