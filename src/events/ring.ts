import type { StreamEventRow } from '../storage/index.ts';
import type { Frame } from './page.ts';
import { frameText } from './record.ts';

const MAX_FRAMES = 8192;
const ARENA_BYTES = 8_388_608;
/** A frame that may take more than this part of the arena is not kept. */
const LARGEST = 1 / 8;
/** UTF-8 of a code unit, at most. */
const BYTES_EACH = 3;

class KeptFrame implements Frame {
  readonly seq: number;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly size: number;
  readonly start: number;
  readonly #arena: Buffer;

  constructor({ seq, type, agent_id, user_id }: StreamEventRow, arena: Buffer, start: number, size: number) {
    this.seq = seq;
    this.type = type;
    this.agentId = agent_id;
    this.userId = user_id;
    this.#arena = arena;
    this.start = start;
    this.size = size;
  }

  copyTo(target: Buffer, at: number): void {
    this.#arena.copy(target, at, this.start, this.start + this.size);
  }
}

/**
 * The newest events, contiguous in sequence. Their bytes lie one behind the other in one piece of memory that is used over and
 * over: thousands of events a second that live for a moment are what a garbage collector is worst at.
 */
export class Ring {
  readonly #maxFrames: number;
  readonly #arenaBytes: number;
  #arena: Buffer | undefined;
  /** Where the next bytes go; every frame from here to the end of the arena is older than every frame before. */
  #at = 0;
  #frames: KeptFrame[] = [];
  /** Frames of it that are gone. */
  #gone = 0;

  constructor(maxFrames = MAX_FRAMES, arenaBytes = ARENA_BYTES) {
    this.#maxFrames = maxFrames;
    this.#arenaBytes = arenaBytes;
  }

  /** Sequence of the oldest one kept. */
  get first(): number | undefined {
    return this.#frames[this.#gone]?.seq;
  }

  /** Those behind `after`, oldest first, at most `limit`. `after` is not before the one that precedes the first. */
  behind(after: number, limit: number): readonly Frame[] {
    const first = this.first;
    if (first === undefined) return [];
    const from = this.#gone + after - first + 1;
    return this.#frames.slice(from, from + limit);
  }

  /** Behind a gap, which another process wrote, and behind what is too large, it begins anew. */
  push(row: StreamEventRow): void {
    const last = this.#frames.at(-1);
    if (last && last.seq !== row.seq - 1) this.clear();
    const text = frameText(row);
    const most = text.length * BYTES_EACH;
    if (most > this.#arenaBytes * LARGEST) {
      this.clear();
      return;
    }
    this.#arena ??= Buffer.allocUnsafeSlow(this.#arenaBytes);
    if (this.#at + most > this.#arenaBytes) {
      this.#dropWhile((frame) => frame.start >= this.#at);
      this.#at = 0;
    }
    this.#dropWhile((frame) => frame.start >= this.#at && frame.start < this.#at + most);
    const size = this.#arena.write(text, this.#at);
    this.#frames.push(new KeptFrame(row, this.#arena, this.#at, size));
    this.#at += size;
    if (this.#frames.length - this.#gone > this.#maxFrames) this.#gone++;
    if (this.#gone < this.#maxFrames) return;
    this.#frames = this.#frames.slice(this.#gone);
    this.#gone = 0;
  }

  clear(): void {
    this.#frames = [];
    this.#gone = 0;
    this.#at = 0;
  }

  /** Gives the memory back, too. */
  release(): void {
    this.clear();
    this.#arena = undefined;
  }

  #dropWhile(covered: (frame: KeptFrame) => boolean): void {
    for (let oldest = this.#frames[this.#gone]; oldest && covered(oldest); oldest = this.#frames[this.#gone]) this.#gone++;
  }
}
