import type { Visibility } from '../../access/principal.ts';
import { isApprovalStep } from '../../authorization/permissions/index.ts';
import { type Condition, filterFieldsOf, matches } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { frameText } from './record.ts';

/** A chunk ends after this many bytes, which limits the memory for a slow reader and reveals that it is slow. */
export const CHUNK_BYTES = 262_144;

/** The selection of a stream. Streams with the same key show the same events. */
export interface View {
  readonly key: string;
  readonly visibility: Visibility;
  readonly types: ReadonlySet<string>;
  /** The filters within its visibility; undefined: everything, without counts. */
  readonly selection: Selection | undefined;
}

/** The selection of a stream with filters, a limit or counts. */
export interface Selection {
  readonly where: readonly Condition[];
}

/** Number of decisions by result. Steps of approvals have a result, but are not decisions. */
export interface Counts {
  allowed: number;
  denied: number;
  rate_limited: number;
}
export const noCounts = (): Counts => ({ allowed: 0, denied: 0, rate_limited: 0 });

export function count(counts: Counts, { result, reason }: Pick<StreamEventRow, 'result' | 'reason'>): void {
  if (isApprovalStep(reason)) return;
  if (result === 'allowed' || result === 'denied' || result === 'rate_limited') counts[result]++;
}

/** Consecutive frames of a stream, possibly none, up to a sequence. */
export interface FrameChunk {
  readonly bytes: Uint8Array | undefined;
  readonly lastSeq: number;
}

/** A chunk of a stream with a selection: the number of its frames and of those left out, and the decisions in both. */
export interface SelectedChunk extends FrameChunk {
  readonly frames: number;
  readonly skipped: number;
  readonly counts: Counts;
}

export function viewOf(visibility: Visibility, types: ReadonlySet<string>, selection?: Selection): View {
  const who =
    visibility.kind === 'all' ? '' : visibility.kind === 'owner' ? `u ${visibility.userId}` : `a ${visibility.agentId}`;
  const where = selection ? ` ${JSON.stringify(selection.where)}` : '';
  return { key: `${who} ${[...types].join()}${where}`, visibility, types, selection };
}

/**
 * Returns the frames of a view for consecutive rows, possibly only for the first of them. Returns undefined if there
 * are no rows.
 */
export function chunkOfRows(rows: readonly StreamEventRow[], { visibility, types }: View): FrameChunk | undefined {
  let lastSeq = rows.at(-1)?.seq;
  if (lastSeq === undefined) return undefined;
  let text = '';
  for (const row of rows) {
    if (!types.has(row.type) || !sees(visibility, row)) continue;
    text += frameText(row);
    if (text.length < CHUNK_BYTES) continue;
    lastSeq = row.seq;
    break;
  }
  return { bytes: text === '' ? undefined : Buffer.from(text), lastSeq };
}

/** Like `chunkOfRows`, for a view with a selection. At most `room` frames are in the chunk; the others are skipped. */
export function selectedChunkOfRows(
  rows: readonly StreamEventRow[],
  { visibility, types, selection }: View,
  room: number,
): SelectedChunk | undefined {
  let lastSeq = rows.at(-1)?.seq;
  if (lastSeq === undefined) return undefined;
  const counts = noCounts();
  let [text, frames, skipped] = ['', 0, 0];
  for (const row of rows) {
    if (!types.has(row.type) || !sees(visibility, row)) continue;
    if (selection && !matches(filterFieldsOf(row), selection.where)) continue;
    count(counts, row);
    if (frames >= room) {
      skipped++;
      continue;
    }
    frames++;
    text += frameText(row);
    if (text.length < CHUNK_BYTES) continue;
    lastSeq = row.seq;
    break;
  }
  return { bytes: text === '' ? undefined : Buffer.from(text), lastSeq, frames, skipped, counts };
}

function sees(visibility: Visibility, row: StreamEventRow): boolean {
  switch (visibility.kind) {
    case 'all':
      return true;
    case 'owner':
      return row.user_id === visibility.userId;
    case 'agent':
      return row.agent_id === visibility.agentId;
  }
}
