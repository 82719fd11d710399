import { type Commit, rowAt } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { Channels, type Place } from './channels.ts';
import { PIECE_BYTES, type Piece, pieceOfRows, type View } from './piece.ts';
import { Ring } from './ring.ts';
import { Scratch } from './scratch.ts';

/** Rows read at a time: about as many as make a piece, which large events do sooner. */
const PAGE = 400;
const LEAST_PAGE = 4;
/** How often the head is looked at for what other processes committed. */
const POLL_MS = { sqlite: 1000, postgres: 150 } as const;
/**
 * Listeners are woken in rounds, which begin at once when none is under way. The more there are to write to, and the more there
 * is to write, the more turns of so many milliseconds a round has: so writes are few, and nobody waits behind all of them.
 */
const TURN_MS = 5;
const MANY_LISTENERS = 50;
const MANY_EVENTS = 50;
const turnsOf = (listeners: number, events: number): number =>
  listeners < MANY_LISTENERS ? 1 : events < MANY_EVENTS ? 2 : 6;

/** One stream's place. */
export interface Following extends Place {
  /** The newest event when it began: of those behind it, memory may have all that it shows. */
  readonly since: number;
  /** Rows to read at a time. */
  page: number;
}

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
  readonly #channels = new Channels();
  /** Every event up to here is committed. */
  #end = 0;
  #epoch = -1;
  #timer: NodeJS.Timeout | undefined;
  /** Who is still to be woken in the present round, and how many at each turn. */
  #round: Listener[] = [];
  #eachTurn = 0;
  #turning = false;
  /** Events since the present round began. */
  #events = 0;
  #polling = false;
  #ticker: NodeJS.Timeout | undefined;
  /** Of this turn of the event loop, made once for all streams that show the same. */
  readonly #pieces = new Map<string, Piece>();
  readonly #scratch = new Scratch();
  #forgetting = false;

  constructor(platform: Platform) {
    this.#platform = platform;
    platform.ledger.onCommit((commit) => this.#see(commit));
    platform.ledger.onInvalidate(() => {
      for (const listener of this.#listeners) listener.doubt();
    });
  }

  /** Sequence of the newest event, from the database itself. */
  async head(): Promise<number> {
    const { seq } = await this.#platform.database.read
      .selectFrom('head')
      .select('seq')
      .where('id', '=', 1)
      .executeTakeFirstOrThrow();
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
    this.#scratch.release();
  }

  /** From now on what the view shows is kept in memory; to be given back. */
  follow(view: View): Following {
    return { ...this.#channels.follow(view), since: this.#end, page: PAGE };
  }

  unfollow(following: Following): void {
    this.#channels.unfollow(following);
  }

  /** What is shown of the events behind `after`; undefined: there is nothing newer. At once when it is in memory. */
  piece(after: number, following: Following): Piece | undefined | Promise<Piece | undefined> {
    const { first, last } = this.#ring;
    // Beyond the newest it has, another instance may have written more.
    if (after < following.since || after < first - 1 || (after >= last && after < this.#end))
      return this.#read(after, following);
    if (after >= last) return undefined;
    if (!following.channel.shared) return this.#kept(after, following);
    const key = `${after} ${following.view.key}`;
    let piece = this.#pieces.get(key);
    if (!piece) {
      piece = this.#kept(after, following);
      this.#forgetSoon();
      this.#pieces.set(key, piece);
    }
    return piece;
  }

  /** The bytes of a piece could not be written out at once. */
  keep(): void {
    this.#scratch.keep();
  }

  #kept(after: number, { view, channel }: Following): Piece {
    const ring = this.#ring;
    let upto = ring.last;
    let size = 0;
    const shown: number[] = [];
    for (const seq of channel.behind(after)) {
      if (!view.types.has(ring.typeOf(seq))) continue;
      shown.push(seq);
      size += ring.sizeOf(seq);
      if (size < PIECE_BYTES) continue;
      upto = seq;
      break;
    }
    if (size === 0) return { bytes: undefined, upto };
    this.#forgetSoon();
    const bytes = this.#scratch.take(size);
    let at = 0;
    for (const seq of shown) {
      ring.copyTo(bytes, at, seq);
      at += ring.sizeOf(seq);
    }
    return { bytes, upto };
  }

  #forgetSoon(): void {
    if (this.#forgetting) return;
    this.#forgetting = true;
    setImmediate(() => {
      this.#forgetting = false;
      this.#pieces.clear();
      this.#scratch.again();
    });
  }

  async #read(after: number, following: Following): Promise<Piece | undefined> {
    const { page, view } = following;
    const rows = await this.#platform.database.read
      .selectFrom('stream_events')
      .selectAll()
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(page)
      .execute();
    const piece = pieceOfRows(rows, view);
    const used = rows.findIndex((row) => row.seq === piece?.upto) + 1;
    following.page = used < rows.length ? Math.max(LEAST_PAGE, used) : Math.min(PAGE, 2 * page);
    return piece;
  }

  #see(commit: Commit): void {
    const { firstSeq, records, events } = commit;
    const last = firstSeq + records.length + events.length - 1;
    if (last <= this.#end) return;
    this.#end = last;
    if (this.#listeners.size === 0) return;
    for (const [i, { agentId, userId }] of records.entries()) this.#keep(commit, i, 'audit', agentId, userId);
    for (const [i, { type, agentId, userId }] of events.entries())
      this.#keep(commit, records.length + i, type, agentId ?? null, userId ?? null);
    this.#events += records.length + events.length;
    if (this.#turning) return;
    this.#turning = true;
    // The answers of the decisions go out first.
    setImmediate(() => this.#takeTurn());
  }

  #keep(commit: Commit, place: number, type: string, agentId: string | null, userId: string | null): void {
    const seq = commit.firstSeq + place;
    const channels = this.#channels.of(type, agentId, userId);
    this.#ring.push(seq, type, channels.length > 0 ? rowAt(commit, place) : undefined);
    if (this.#ring.last === seq) for (const channel of channels) channel.push(seq, this.#ring);
  }

  #takeTurn(): void {
    if (this.#round.length === 0) {
      this.#turning = this.#events > 0;
      if (!this.#turning) return;
      this.#round = [...this.#listeners];
      this.#eachTurn = Math.ceil(this.#round.length / turnsOf(this.#round.length, this.#events));
      this.#events = 0;
    }
    for (const listener of this.#round.splice(0, this.#eachTurn)) listener.wake();
    setTimeout(() => this.#takeTurn(), TURN_MS);
  }

  /** What other processes did. */
  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const { seq, epoch } = await this.#platform.database.read
        .selectFrom('head')
        .select(['seq', 'epoch'])
        .where('id', '=', 1)
        .executeTakeFirstOrThrow();
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
