import { type FilterFields, filterFieldsOf } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { frameText } from './record.ts';

const MAX_EVENTS = 8192;
const ARENA_BYTES = 4_194_304;
/** A frame that may need more than this part of the arena is not stored. */
const LARGEST = 1 / 8;
/** Maximum number of UTF-8 bytes for one UTF-16 code unit. */
const BYTES_EACH = 3;

/**
 * The newest events, contiguous in sequence, with the frames of those that have a subscriber. The frames are stored in
 * one circular arena, because thousands of short-lived objects a second would burden the garbage collector.
 */
export class Ring {
  readonly #maxEvents: number;
  readonly #arenaBytes: number;
  /** Indexed by sequence modulo the length. The size is 0 if the event had no subscriber. */
  readonly #starts: Int32Array;
  readonly #sizes: Int32Array;
  readonly #types: string[];
  /** The fields that filters compare, for events with a filtering subscriber. */
  readonly #fields: (FilterFields | undefined)[] = [];
  #arena: Buffer | undefined;
  /** Offset of the next bytes. Every frame from here to the end of the arena is older than every frame before it. */
  #at = 0;
  /** Frames before this sequence have no bytes. */
  #oldest = 0;
  #first = 0;
  #last = -1;

  constructor(maxEvents = MAX_EVENTS, arenaBytes = ARENA_BYTES) {
    this.#maxEvents = maxEvents;
    this.#arenaBytes = arenaBytes;
    this.#starts = new Int32Array(maxEvents);
    this.#sizes = new Int32Array(maxEvents);
    this.#types = Array<string>(maxEvents).fill('');
  }

  /** Sequence of the oldest event; after {@link last} if there is none. */
  get first(): number {
    return this.#first;
  }

  /** Sequence of the newest. */
  get last(): number {
    return this.#last;
  }

  /** Returns the bytes of a frame; 0 if it had no subscriber. */
  sizeOf(seq: number): number {
    return this.#sizes[seq % this.#maxEvents] as number;
  }

  typeOf(seq: number): string {
    return this.#types[seq % this.#maxEvents] as string;
  }

  /** Returns the fields that filters compare; undefined if no subscriber had filters when the event arrived. */
  fieldsOf(seq: number): FilterFields | undefined {
    return this.#fields[seq % this.#maxEvents];
  }

  copyTo(target: Buffer, at: number, seq: number): void {
    const i = seq % this.#maxEvents;
    const start = this.#starts[i] as number;
    this.#arena?.copy(target, at, start, start + (this.#sizes[i] as number));
  }

  /**
   * Adds the next event, with its row if it has a subscriber, and with `keepFields` if one has filters. After a gap
   * (events of another process) and after a frame that is too large, the ring starts empty.
   */
  push(seq: number, type: string, row: StreamEventRow | undefined, keepFields = false): void {
    if (seq !== this.#last + 1) this.#beginAt(seq);
    let size = 0;
    if (row) {
      const text = frameText(row);
      const most = text.length * BYTES_EACH;
      if (most > this.#arenaBytes * LARGEST) {
        this.#beginAt(seq + 1);
        return;
      }
      size = this.#write(text, most);
    }
    const i = seq % this.#maxEvents;
    this.#starts[i] = this.#at - size;
    this.#sizes[i] = size;
    this.#types[i] = type;
    if (keepFields || this.#fields.length > 0) this.#fields[i] = keepFields && row ? filterFieldsOf(row) : undefined;
    this.#last = seq;
    if (this.#last - this.#first >= this.#maxEvents) this.#first = this.#last - this.#maxEvents + 1;
  }

  /** Frees the memory. */
  release(): void {
    this.#beginAt(0);
    this.#arena = undefined;
    this.#fields.length = 0;
  }

  /** Forgets all events. */
  clear(): void {
    if (this.#last < this.#first) return;
    this.#beginAt(0);
    this.#arena?.fill(0);
    this.#fields.length = 0;
  }

  #beginAt(seq: number): void {
    this.#first = seq;
    this.#oldest = seq;
    this.#last = seq - 1;
    this.#at = 0;
  }

  #write(text: string, most: number): number {
    this.#arena ??= Buffer.allocUnsafeSlow(this.#arenaBytes);
    if (this.#at + most > this.#arenaBytes) {
      this.#dropBetween(this.#at, this.#arenaBytes);
      this.#at = 0;
    }
    this.#dropBetween(this.#at, this.#at + most);
    const size = this.#arena.write(text, this.#at);
    this.#at += size;
    return size;
  }

  /** Drops the oldest frames that begin in this range, and all events before them. */
  #dropBetween(start: number, end: number): void {
    if (this.#oldest < this.#first) this.#oldest = this.#first;
    for (; this.#oldest <= this.#last; this.#oldest++) {
      const i = this.#oldest % this.#maxEvents;
      if (this.#sizes[i] === 0) continue;
      const at = this.#starts[i] as number;
      if (at < start || at >= end) return;
      this.#first = this.#oldest + 1;
    }
  }
}
