import type { Commit } from '../ledger/index.ts';
import type { Platform } from '../platform.ts';
import { type Frame, rowsOf, toFrame } from './record.ts';

/** Newest events kept in memory while anybody listens. */
const MAX_RING = 5000;
const MAX_RING_CHARS = 16_000_000;
const PAGE = 500;
/** After so much a piece ends, so that what waits for a reader is bounded, and a reader that takes nothing is noticed. */
const PIECE_CHARS = 262_144;
/** How often the head is looked at for what other processes committed. */
const POLL_MS = { sqlite: 1000, postgres: 150 } as const;
/** With many listeners what happens within this time goes out together. */
const GATHER_MS = 10;
const MANY = 50;

export interface Listener {
  /** There may be more to read. */
  wake(): void;
  /** Once a second. */
  tick(): void;
  /** A credential or right may have ended. */
  doubt(): void;
}

/** What a stream shows. Streams with the same key show the same. */
export interface View {
  readonly key: string;
  sees(frame: Frame): boolean;
}

/** A piece of a stream: its bytes, which may be none, and how far it goes. */
export interface Piece {
  readonly bytes: Uint8Array | undefined;
  readonly upto: number;
}

const encoder = new TextEncoder();

/**
 * The end of the ledger as streams see it: the newest events in memory, older ones from the database. Whatever way an event is
 * read, it is read by its sequence, so replay and live are one and the same.
 */
export class EventHub {
  readonly #platform: Platform;
  readonly #listeners = new Set<Listener>();
  /** Contiguous in sequence. */
  #ring: Frame[] = [];
  #chars = 0;
  /** Every event up to here is committed. */
  #end = 0;
  #epoch = -1;
  #timer: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #polling = false;
  #ticker: NodeJS.Timeout | undefined;
  /** Pieces of this moment: made once for all streams that show the same. */
  readonly #pieces = new Map<string, Piece | undefined>();

  constructor(platform: Platform) {
    this.#platform = platform;
    platform.ledger.onCommit((commit) => this.#take(commit));
    platform.ledger.onInvalidate(() => {
      for (const listener of this.#listeners) listener.doubt();
    });
  }

  /** Sequence of the newest event, from the database itself. */
  async head(): Promise<number> {
    const { seq } = await this.#platform.database.read.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
    return seq;
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    this.#ticker ??= setInterval(() => {
      for (const each of [...this.#listeners]) each.tick();
    }, 1000).unref();
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS[this.#platform.database.dialect]).unref();
  }

  delete(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#timer);
    clearInterval(this.#ticker);
    this.#timer = undefined;
    this.#ticker = undefined;
    this.#ring = [];
    this.#chars = 0;
  }

  /** What a view shows of the events behind `after`; undefined: there is nothing newer. */
  async piece(after: number, view: View): Promise<Piece | undefined> {
    const key = `${after} ${view.key}`;
    if (this.#pieces.has(key)) return this.#pieces.get(key);
    const frames = await this.read(after);
    let last: Frame | undefined;
    let wire = '';
    for (const frame of frames) {
      last = frame;
      if (view.sees(frame)) wire += frame.wire;
      if (wire.length >= PIECE_CHARS) break;
    }
    const piece = last && { bytes: wire === '' ? undefined : encoder.encode(wire), upto: last.seq };
    if (this.#pieces.size === 0) setImmediate(() => this.#pieces.clear());
    if (piece) this.#pieces.set(key, piece);
    return piece;
  }

  /** Events behind `after`, oldest first, a page of them; none: there is nothing newer. */
  async read(after: number): Promise<readonly Frame[]> {
    const ring = this.#ring;
    const first = ring[0]?.seq;
    if (first !== undefined && after >= first - 1) {
      const from = after - first + 1;
      if (from < ring.length) return ring.slice(from, from + PAGE);
      if (after >= this.#end) return [];
    }
    const rows = await this.#platform.database.read.selectFrom('stream_events').selectAll().where('seq', '>', after).orderBy('seq').limit(PAGE).execute();
    return rows.map(toFrame);
  }

  #take(commit: Commit): void {
    const last = commit.firstSeq + commit.records.length + commit.events.length - 1;
    if (last <= this.#end) return;
    this.#end = last;
    if (this.#listeners.size === 0) return;
    const frames = rowsOf(commit).map(toFrame);
    // Behind a gap, which another process wrote, the ring begins anew: the gap is read from the database.
    if (this.#ring.length > 0 && this.#ring.at(-1)?.seq !== commit.firstSeq - 1) {
      this.#ring = [];
      this.#chars = 0;
    }
    for (const frame of frames) {
      this.#ring.push(frame);
      this.#chars += frame.wire.length;
    }
    if (this.#ring.length > MAX_RING || this.#chars > MAX_RING_CHARS) {
      const dropped = this.#ring.splice(0, Math.max(this.#ring.length - MAX_RING, Math.ceil(this.#ring.length / 4)));
      for (const frame of dropped) this.#chars -= frame.wire.length;
    }
    if (this.#listeners.size < MANY) this.#wake();
    else
      this.#gathering ??= setTimeout(() => {
        this.#gathering = undefined;
        this.#wake();
      }, GATHER_MS);
  }

  #wake(): void {
    for (const listener of this.#listeners) listener.wake();
  }

  /** What other processes did. */
  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const { seq, epoch } = await this.#platform.database.read.selectFrom('head').select(['seq', 'epoch']).where('id', '=', 1).executeTakeFirstOrThrow();
      const newer = seq > this.#end;
      if (newer) this.#end = seq;
      const doubted = epoch !== this.#epoch;
      this.#epoch = epoch;
      for (const listener of [...this.#listeners]) {
        if (doubted) listener.doubt();
        if (newer) listener.wake();
      }
    } catch (error) {
      this.#platform.log.warn({ err: error }, 'the end of the ledger could not be read for the event streams');
    } finally {
      this.#polling = false;
    }
  }
}

const hubs = new WeakMap<Platform, EventHub>();

export function hubOf(platform: Platform): EventHub {
  let hub = hubs.get(platform);
  if (!hub) {
    hub = new EventHub(platform);
    hubs.set(platform, hub);
  }
  return hub;
}
