import { canonicalJson } from './canonical.ts';
import type { Entry } from './entry.ts';

/** An entry with which sealing began, stopped or went on. */
export interface SealingChange {
  readonly kind: 'begun' | 'stopped' | 'resumed';
  readonly seq: number;
  /** As the ledger recorded it, in ms. */
  readonly timestamp: number;
  /** Rows that were sealed before a stop. */
  readonly sealed: number;
}

/** Rows that were recorded while the ledger was not sealed. */
export interface SealedLater {
  readonly from: number;
  readonly to: number;
  /** When sealing began or went on, in ms. */
  readonly at: number;
}

const KINDS: ReadonlyMap<string, SealingChange['kind']> = new Map([
  ['ledger.begun', 'begun'],
  ['ledger.restored', 'begun'],
  ['ledger.stopped', 'stopped'],
  ['ledger.resumed', 'resumed'],
]);

export function sealingChange({ type, seq, timestamp, fields }: Entry): SealingChange | undefined {
  const kind = KINDS.get(type);
  if (!kind) return undefined;
  const { sealed } = canonicalJson(fields['data'] ?? '', `The data of ${type}`);
  return { kind, seq, timestamp, sealed: typeof sealed === 'number' ? sealed : seq };
}

/**
 * The rows that proven entries say were sealed only afterwards: those before the one with which the log began, and
 * those that were not sealed at a stop, up to the resumption.
 */
export function sealedLater(sealingChanges: readonly SealingChange[]): SealedLater[] {
  const rows: SealedLater[] = [];
  let sealedBefore: number | undefined;
  for (const { kind, seq, timestamp, sealed } of sealingChanges.toSorted((a, b) => a.seq - b.seq)) {
    const from = kind === 'begun' ? 1 : kind === 'resumed' && sealedBefore !== undefined ? sealedBefore + 1 : seq;
    if (from < seq) rows.push({ from, to: seq - 1, at: timestamp });
    sealedBefore = kind === 'stopped' ? sealed : undefined;
  }
  // A log that was restored is sealed anew from its first row on.
  return rows.filter((row, i) => !rows.some((later, j) => j > i && later.from <= row.from && later.to >= row.to));
}
