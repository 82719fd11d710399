import { type Commit, rowsOf } from '../ledger/index.ts';
import type { Platform } from '../platform.ts';
import { Page, type Piece, type View } from './page.ts';
import { Frame } from './record.ts';

/** Newest events kept in memory while anybody listens. */
const MAX_RING = 2000;
const MAX_RING_BYTES = 16_000_000;
const PAGE = 1000;
/** How often the head is looked at for what other processes committed. */
const POLL_MS = { sqlite: 1000, postgres: 150 } as const;
/** With many listeners what happens within this time goes out together; when much happens, within the longer one. */
const GATHER_MS = 10;
const GATHER_MUCH_MS = 30;
const MANY_LISTENERS = 50;
const MANY_EVENTS = 50;

export interface Listener {
  /** There may be more to read. */
  wake(): void;
  /** Once a second. */
  tick(): void;
  /** A credential or right may have ended. */
  doubt(): void;
}

/**
 * The end of the ledger as streams see it: the newest events in memory, older ones from the database. Whatever way an event is
 * read, it is read by its sequence, so replay and live are one and the same.
 */
export class EventHub {
  readonly #platform: Platform;
  readonly #listeners = new Set<Listener>();
  /** Contiguous in sequence. */
  #ring: Frame[] = [];
  #weight = 0;
  /** Every event up to here is committed. */
  #end = 0;
  #epoch = -1;
  #timer: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** Events since listeners were woken last, and before that. */
  #gathered = 0;
  #gatheredBefore = 0;
  #polling = false;
  #ticker: NodeJS.Timeout | undefined;
  /** Of this moment, made once for all streams: pages of the ring by what they lie behind, and pieces for those that show the same. */
  readonly #pages = new Map<number, Page>();
  readonly #pieces = new Map<string, Piece>();

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
    this.#weight = 0;
  }

  /** What a view shows of the events behind `after`; undefined: there is nothing newer. */
  async piece(after: number, view: View): Promise<Piece | undefined> {
    const key = `${after} ${view.key}`;
    const made = this.#pieces.get(key);
    if (made) return made;
    const piece = (await this.#page(after)).pieceOf(view);
    if (piece) {
      this.#forgetSoon();
      this.#pieces.set(key, piece);
    }
    return piece;
  }

  /** Events behind `after`, oldest first; none: there is nothing newer. */
  async #page(after: number): Promise<Page> {
    const ring = this.#ring;
    const first = ring[0]?.seq;
    if (first !== undefined && after >= first - 1) {
      const made = this.#pages.get(after);
      if (made) return made;
      const from = after - first + 1;
      if (from < ring.length) {
        const page = new Page(ring.slice(from, from + PAGE));
        this.#forgetSoon();
        this.#pages.set(after, page);
        return page;
      }
      if (after >= this.#end) return new Page([]);
    }
    const rows = await this.#platform.database.read.selectFrom('stream_events').selectAll().where('seq', '>', after).orderBy('seq').limit(PAGE).execute();
    return new Page(rows.map((row) => new Frame(row)));
  }

  #forgetSoon(): void {
    if (this.#pages.size > 0 || this.#pieces.size > 0) return;
    setImmediate(() => {
      this.#pages.clear();
      this.#pieces.clear();
    });
  }

  #take(commit: Commit): void {
    const last = commit.firstSeq + commit.records.length + commit.events.length - 1;
    if (last <= this.#end) return;
    this.#end = last;
    if (this.#listeners.size === 0) return;
    const frames = rowsOf(commit).map((row) => new Frame(row));
    // Behind a gap, which another process wrote, the ring begins anew: the gap is read from the database.
    if (this.#ring.length > 0 && this.#ring.at(-1)?.seq !== commit.firstSeq - 1) {
      this.#ring = [];
      this.#weight = 0;
    }
    for (const frame of frames) {
      this.#ring.push(frame);
      this.#weight += frame.weight;
    }
    if (this.#ring.length > MAX_RING || this.#weight > MAX_RING_BYTES) {
      const dropped = this.#ring.splice(0, Math.max(this.#ring.length - MAX_RING, Math.ceil(this.#ring.length / 4)));
      for (const frame of dropped) this.#weight -= frame.weight;
    }
    if (this.#listeners.size < MANY_LISTENERS) {
      this.#wake();
      return;
    }
    this.#gathered += frames.length;
    this.#gathering ??= setTimeout(
      () => {
        this.#gathering = undefined;
        this.#gatheredBefore = this.#gathered;
        this.#gathered = 0;
        this.#wake();
      },
      this.#gatheredBefore >= MANY_EVENTS ? GATHER_MUCH_MS : GATHER_MS,
    );
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
