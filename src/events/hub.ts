import { type Commit, rowsOf } from '../ledger/index.ts';
import type { Platform } from '../platform.ts';
import { Page, type Piece, ReadFrame, type View } from './page.ts';
import { Ring } from './ring.ts';

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
  readonly #ring = new Ring();
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
    this.#ring.release();
  }

  /** What a view shows of the events behind `after`; undefined: there is nothing newer. */
  async piece(after: number, view: View): Promise<Piece | undefined> {
    const key = `${after} ${view.key}`;
    const made = this.#pieces.get(key);
    if (made) return made;
    const kept = this.#kept(after);
    const piece = (kept ?? (await this.#read(after))).pieceOf(view);
    if (piece) {
      this.#forgetSoon();
      this.#pieces.set(key, piece);
    }
    return piece;
  }

  /** Events behind `after`, if memory has all there are, oldest first. */
  #kept(after: number): Page | undefined {
    const { first } = this.#ring;
    if (first === undefined || after < first - 1) return undefined;
    let page = this.#pages.get(after);
    if (!page) {
      const frames = this.#ring.behind(after, PAGE);
      // Another instance may have written more.
      if (frames.length === 0) return after < this.#end ? undefined : new Page([]);
      page = new Page(frames);
      this.#forgetSoon();
      this.#pages.set(after, page);
    }
    return page;
  }

  async #read(after: number): Promise<Page> {
    const rows = await this.#platform.database.read.selectFrom('stream_events').selectAll().where('seq', '>', after).orderBy('seq').limit(PAGE).execute();
    return new Page(rows.map((row) => new ReadFrame(row)));
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
    // The bytes that they stand on may be written over.
    this.#pages.clear();
    for (const row of rowsOf(commit)) this.#ring.push(row);
    if (this.#listeners.size < MANY_LISTENERS) {
      this.#wake();
      return;
    }
    this.#gathered += commit.records.length + commit.events.length;
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
