import type { Reach } from '../lib/access.ts';
import type { StreamEventRow } from '../storage/index.ts';
import { frameText } from './record.ts';

/** After so much a piece ends, so that what waits for a reader is bounded, and a reader that takes nothing is noticed. */
const PIECE_BYTES = 262_144;

/** What a stream shows. Streams with the same key show the same. */
export interface View {
  readonly key: string;
  readonly reach: Reach;
  readonly types: ReadonlySet<string>;
}

/** One event on its way to streams: who may see it, and its bytes. */
export interface Frame {
  readonly seq: number;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  /** Bytes. */
  readonly size: number;
  copyTo(target: Buffer, at: number): void;
}

/** One that was read from the database; its bytes are made when somebody sees it. */
export class ReadFrame implements Frame {
  readonly #row: StreamEventRow;
  #bytes: Buffer | undefined;

  constructor(row: StreamEventRow) {
    this.#row = row;
  }

  get seq(): number {
    return this.#row.seq;
  }
  get type(): string {
    return this.#row.type;
  }
  get agentId(): string | null {
    return this.#row.agent_id;
  }
  get userId(): string | null {
    return this.#row.user_id;
  }
  get size(): number {
    return this.#made.length;
  }

  copyTo(target: Buffer, at: number): void {
    this.#made.copy(target, at);
  }

  get #made(): Buffer {
    return (this.#bytes ??= Buffer.from(frameText(this.#row)));
  }
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
    const shown: Frame[] = [];
    let size = 0;
    for (const frame of this.#within(reach)) {
      if (!types.has(frame.type)) continue;
      shown.push(frame);
      size += frame.size;
      if (size < PIECE_BYTES) continue;
      upto = frame.seq;
      break;
    }
    if (size === 0) return { bytes: undefined, upto };
    const bytes = Buffer.allocUnsafe(size);
    let at = 0;
    for (const frame of shown) {
      frame.copyTo(bytes, at);
      at += frame.size;
    }
    return { bytes, upto };
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
