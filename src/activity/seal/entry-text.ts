import { hash } from 'node:crypto';
import { storedObject } from '../../ledger/index.ts';
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

/** The part of an entry that remains when its private text is erased. */
export interface Remains {
  readonly type: string;
  readonly timestamp: number;
  readonly digest: string;
}

/** The texts of an entry. Only callers who may read the entry get `private`. */
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

/**
 * Joins fields with U+0000. An absent value is the empty text, and numbers are as JavaScript prints them. JSON prints
 * them alike, but V8 does not remember the texts: those of an export would collect in the old part of the heap.
 */
function joined(seq: number, values: readonly Value[]): string {
  let text = '';
  for (const value of values) {
    if (typeof value === 'string' && value.includes('\0')) throw new UnsealableRow(seq);
    text += `\0${typeof value === 'number' ? JSON.stringify(value) : (value ?? '')}`;
  }
  return text.slice(1);
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

/** The scope of an erasure is public, so that gaps can be explained. */
function erasedFields(data: string | null): string[] {
  const { what, seqs } = storedObject(data);
  return [what, seqs].map((value) => (typeof value === 'string' ? value : ''));
}

/** Verifiers need these events, so they are never deleted. */
export const isPermanent = (type: string): boolean => type.startsWith('ledger.') || type === 'audit.erased';

/** Returns the texts of a stored row, equal to those computed from memory when the row was committed. */
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

/** Returns the leaf of a deleted row, computed from the part that was kept. */
export const remainsLeaf = (seq: number, { type, timestamp, digest }: Remains): string =>
  joined(seq, [ENTRY, type, seq, timestamp, digest]);

/**
 * Returns the texts of an entry, computed from the row, the kept part of deleted fields, and the salt. undefined: the
 * leaf cannot be computed, because the whole row was erased, its salt no longer exists, or the row has fields of which
 * it would contain only the kept digest.
 */
export function storedTexts(
  seq: number,
  row: SealedRow | undefined,
  left: Remains | undefined,
  salt: string | undefined,
): { leaf: string; private?: string } | undefined {
  if (!left && row) return salt === undefined ? undefined : rowTexts(row, salt);
  if (left?.type !== 'audit') return row ? undefined : { leaf: remainsLeaf(seq, left ?? ABSENT) };
  if (!row || hasPrivateFields(row)) return undefined;
  return { leaf: decisionLeaf(seq, row.timestamp, left.digest, decisionOf(row)) };
}

/** Like {@link storedTexts}, for a row in the tree: it is undefined too if the row can never have been sealed. */
export function sealedTexts(...args: Parameters<typeof storedTexts>): ReturnType<typeof storedTexts> {
  try {
    return storedTexts(...args);
  } catch (error) {
    if (error instanceof UnsealableRow) return undefined;
    throw error;
  }
}

const hasPrivateFields = ({ parameters, ip, user_agent }: SealedRow): boolean =>
  parameters !== null || ip !== null || user_agent !== null;

/** The leaf of a row that was deleted before sealing began. */
export const ABSENT: Remains = { type: 'absent', timestamp: 0, digest: '' };
