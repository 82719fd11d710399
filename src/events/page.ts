import type { Reach } from '../lib/access.ts';
import type { Frame } from './record.ts';

/** After so much a piece ends, so that what waits for a reader is bounded, and a reader that takes nothing is noticed. */
const PIECE_BYTES = 262_144;

/** What a stream shows. Streams with the same key show the same. */
export interface View {
  readonly key: string;
  readonly reach: Reach;
  readonly types: ReadonlySet<string>;
}

/** A piece of a stream: its bytes, which may be none, and how far it goes. */
export interface Piece {
  readonly bytes: Uint8Array | undefined;
  readonly upto: number;
}

export function viewOf(reach: Reach, types: ReadonlySet<string>): View {
  const who = reach.kind === 'all' ? '' : reach.kind === 'owner' ? `u ${reach.userId}` : `a ${reach.agentId}`;
  return { key: `${who} ${[...types].join()}`, reach, types };
}

/** Events that follow each other in the ledger, without a gap, sorted once for all who may see some of them. */
export class Page {
  readonly #frames: readonly Frame[];
  #byUser: Map<string | null, Frame[]> | undefined;
  #byAgent: Map<string | null, Frame[]> | undefined;

  constructor(frames: readonly Frame[]) {
    this.#frames = frames;
  }

  /** What a view shows of it, or of its beginning. undefined: the page is empty. */
  pieceOf({ reach, types }: View): Piece | undefined {
    let upto = this.#frames.at(-1)?.seq;
    if (upto === undefined) return undefined;
    const shown: Uint8Array[] = [];
    let size = 0;
    for (const frame of this.#within(reach)) {
      if (!types.has(frame.type)) continue;
      shown.push(frame.wire);
      size += frame.wire.length;
      if (size < PIECE_BYTES) continue;
      upto = frame.seq;
      break;
    }
    return { bytes: shown.length > 1 ? Buffer.concat(shown, size) : shown[0], upto };
  }

  #within(reach: Reach): readonly Frame[] {
    switch (reach.kind) {
      case 'all':
        return this.#frames;
      case 'owner':
        return (this.#byUser ??= grouped(this.#frames, 'userId')).get(reach.userId) ?? [];
      case 'agent':
        return (this.#byAgent ??= grouped(this.#frames, 'agentId')).get(reach.agentId) ?? [];
    }
  }
}

function grouped(frames: readonly Frame[], by: 'userId' | 'agentId'): Map<string | null, Frame[]> {
  const groups = new Map<string | null, Frame[]>();
  for (const frame of frames) {
    const group = groups.get(frame[by]);
    if (group) group.push(frame);
    else groups.set(frame[by], [frame]);
  }
  return groups;
}
