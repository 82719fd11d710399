import type { Visibility } from '../../access/principal.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { frameText } from './record.ts';

/** After so much a piece ends, so that what waits for a reader is bounded, and a reader that takes nothing is noticed. */
export const PIECE_BYTES = 262_144;

/** What a stream shows. Streams with the same key show the same. */
export interface View {
  readonly key: string;
  readonly visibility: Visibility;
  readonly types: ReadonlySet<string>;
}

/** A piece of a stream: its bytes, which may be none, and how far it goes. */
export interface Piece {
  readonly bytes: Uint8Array | undefined;
  readonly upto: number;
}

export function viewOf(visibility: Visibility, types: ReadonlySet<string>): View {
  const who =
    visibility.kind === 'all' ? '' : visibility.kind === 'owner' ? `u ${visibility.userId}` : `a ${visibility.agentId}`;
  return { key: `${who} ${[...types].join()}`, visibility, types };
}

/** What a view shows of rows that follow each other, or of their beginning. undefined: there are none. */
export function pieceOfRows(rows: readonly StreamEventRow[], { visibility, types }: View): Piece | undefined {
  let upto = rows.at(-1)?.seq;
  if (upto === undefined) return undefined;
  let text = '';
  for (const row of rows) {
    if (!types.has(row.type) || !sees(visibility, row)) continue;
    text += frameText(row);
    if (text.length < PIECE_BYTES) continue;
    upto = row.seq;
    break;
  }
  return { bytes: text === '' ? undefined : Buffer.from(text), upto };
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
