import type { Visibility } from '../../access/principal.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { frameText } from './record.ts';

/** A chunk ends after this many bytes, which bounds the memory of a slow reader and shows that it is slow. */
export const CHUNK_BYTES = 262_144;

/** What a stream shows. Streams with the same key show the same events. */
export interface View {
  readonly key: string;
  readonly visibility: Visibility;
  readonly types: ReadonlySet<string>;
}

/** Consecutive frames of a stream, possibly none, up to a sequence. */
export interface FrameChunk {
  readonly bytes: Uint8Array | undefined;
  readonly lastSeq: number;
}

export function viewOf(visibility: Visibility, types: ReadonlySet<string>): View {
  const who =
    visibility.kind === 'all' ? '' : visibility.kind === 'owner' ? `u ${visibility.userId}` : `a ${visibility.agentId}`;
  return { key: `${who} ${[...types].join()}`, visibility, types };
}

/** Returns what a view shows of consecutive rows, or of the first of them. Returns undefined if there are no rows. */
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
