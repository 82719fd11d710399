import type { Id } from '../../kernel/ids.ts';
import { type Commit, matches, readHead, rowAt } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import {
  CHUNK_BYTES,
  chunkOfRows,
  count,
  type FrameChunk,
  noCounts,
  type SelectedChunk,
  selectedChunkOfRows,
  type View,
} from './frame-chunk.ts';
import { Ring } from './ring.ts';
import { type Page, SharedReads } from './shared-reads.ts';
import { type Subscription, Topics } from './topics.ts';
import { WriteBuffer } from './write-buffer.ts';

/** Rows per read: about one chunk of small events. Large events fill a chunk with fewer. */
const PAGE = 400;
const LEAST_PAGE = 4;
/** How often the head of the ledger is read for commits of other processes. */
const POLL_MS = { sqlite: 1000, postgres: 150 } as const;
/**
 * Listeners are woken in rounds; a round begins immediately unless one is running. With more listeners and more events,
 * a round is split into more batches with a pause in between. This keeps the number of writes low, and no listener has
 * to wait for all others.
 */
const BATCH_PAUSE_MS = 5;
const MANY_LISTENERS = 50;
const MANY_EVENTS = 50;
const batchesOf = (listeners: number, events: number): number =>
  listeners < MANY_LISTENERS ? 1 : events < MANY_EVENTS ? 2 : 6;

/** The subscription of one stream. */
export interface HubSubscription extends Subscription {
  /** Sequence of the newest event when the subscription began. Later events may be in memory. */
  readonly since: number;
  /** Rows per read. */
  page: number;
}

export interface Listener {
  /** Called when there may be more to read. */
  wake(): void;
  /** Called once a second. */
  tick(): void;
  /** Called when a credential or right may have ended. */
  revalidate(): void;
  /** Called when the database has lost events that were committed. */
  lose(): void;
}

/**
 * Reads the ledger for streams: the newest events from memory, older ones from the database. Both are read by sequence,
 * so replay continues with live events without a gap or duplicate.
 */
export class EventHub {
  readonly #platform: Pick<Platform, 'database' | 'ledger'>;
  readonly #listeners = new Set<Listener>();
  readonly #ring = new Ring();
  readonly #topics = new Topics();
  readonly #reads: SharedReads;
  /** Every event up to here is committed. */
  #end = 0;
  #epoch = -1;
  #timer: NodeJS.Timeout | undefined;
  /** Listeners that the current round has not woken yet. */
  #round: Listener[] = [];
  #batchSize = 0;
  #roundScheduled = false;
  /** Events since the current round began. */
  #events = 0;
  #polling = false;
  #pollAgain = false;
  /** Subscriptions with a selection. */
  #selecting = 0;
  #ticker: NodeJS.Timeout | undefined;
  /** Chunks read in this turn of the event loop, shared by all streams with the same view. */
  readonly #chunks = new Map<string, FrameChunk>();
  readonly #writeBuffer = new WriteBuffer();
  #resetScheduled = false;

  constructor(platform: Pick<Platform, 'database' | 'ledger'>) {
    this.#platform = platform;
    this.#reads = new SharedReads(platform.database);
    platform.ledger.onCommit((commit) => this.#onCommit(commit));
    platform.ledger.history.onLoss((seq) => {
      for (const listener of [...this.#listeners]) listener.lose();
      this.#ring.release();
      this.#end = seq;
    });
    platform.ledger.history.onHead((seq, epoch) => this.#onHead(seq, epoch));
    platform.ledger.notices?.onNotice(() => {
      if (this.#listeners.size > 0) void this.#poll();
    });
    platform.ledger.onInvalidate(() => {
      for (const listener of this.#listeners) listener.revalidate();
    });
  }

  /** Returns the sequence of the newest event in the database. */
  head(): Promise<number> {
    return readHead(this.#platform.database.read);
  }

  add(listener: Listener): void {
    this.#platform.ledger.notices?.watch(true);
    this.#listeners.add(listener);
    this.#ticker ??= setInterval(() => {
      for (const each of [...this.#listeners]) each.tick();
    }, 1000).unref();
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS[this.#platform.database.dialect]).unref();
  }

  delete(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#platform.ledger.notices?.watch(false);
    clearInterval(this.#timer);
    clearInterval(this.#ticker);
    this.#timer = undefined;
    this.#ticker = undefined;
    this.#ring.release();
    this.#writeBuffer.release();
  }

  /** Keeps events of the view in memory from now on, until {@link unsubscribe}. */
  subscribe(view: View): HubSubscription {
    if (view.selection) this.#selecting++;
    return { ...this.#topics.subscribe(view), since: this.#end, page: PAGE };
  }

  unsubscribe(subscription: HubSubscription): void {
    if (subscription.view.selection) this.#selecting--;
    this.#topics.unsubscribe(subscription);
  }

  /** Returns the next events after `after`, synchronously if they are in memory, or undefined if there are none. */
  chunk(after: number, subscription: HubSubscription): FrameChunk | undefined | Promise<FrameChunk | undefined> {
    const { first, last } = this.#ring;
    // After the newest event in memory there may be events of another process.
    if (after < subscription.since || after < first - 1 || (after >= last && after < this.#end))
      return this.#read(after, subscription);
    if (after >= last) return undefined;
    if (!subscription.topic.shared) return this.#chunkFromRing(after, subscription);
    const key = `${after} ${subscription.view.key}`;
    let chunk = this.#chunks.get(key);
    if (!chunk) {
      chunk = this.#chunkFromRing(after, subscription);
      this.#resetSoon();
      this.#chunks.set(key, chunk);
    }
    return chunk;
  }

  /**
   * Like `chunk`, for a subscription with a selection. At most `room` frames are in the chunk; the others are skipped.
   */
  selectedChunk(
    after: number,
    subscription: HubSubscription,
    room: number,
  ): SelectedChunk | undefined | Promise<SelectedChunk | undefined> {
    const { first, last } = this.#ring;
    if (after < subscription.since || after < first - 1 || (after >= last && after < this.#end))
      return this.#readRows(after, subscription, ({ rows }) => selectedChunkOfRows(rows, subscription.view, room));
    return after >= last ? undefined : this.#selectedChunkFromRing(after, subscription, room);
  }

  /** Retains the memory of the current chunks, because some bytes are not written yet. */
  retain(): void {
    this.#writeBuffer.retain();
  }

  #chunkFromRing(after: number, { view, topic }: HubSubscription): FrameChunk {
    const ring = this.#ring;
    let lastSeq = ring.last;
    let size = 0;
    const shown: number[] = [];
    for (const seq of topic.after(after)) {
      if (!view.types.has(ring.typeOf(seq))) continue;
      shown.push(seq);
      size += ring.sizeOf(seq);
      if (size < CHUNK_BYTES) continue;
      lastSeq = seq;
      break;
    }
    return { bytes: this.#copyOf(shown, size), lastSeq };
  }

  #selectedChunkFromRing(after: number, { view, topic }: HubSubscription, room: number): SelectedChunk {
    const ring = this.#ring;
    const where = view.selection?.where ?? [];
    const counts = noCounts();
    let lastSeq = ring.last;
    let [size, skipped] = [0, 0];
    const shown: number[] = [];
    for (const seq of topic.after(after)) {
      if (!view.types.has(ring.typeOf(seq))) continue;
      const fields = ring.fieldsOf(seq);
      if (!fields || !matches(fields, where)) continue;
      count(counts, fields);
      if (shown.length >= room) {
        skipped++;
        continue;
      }
      shown.push(seq);
      size += ring.sizeOf(seq);
      if (size < CHUNK_BYTES) continue;
      lastSeq = seq;
      break;
    }
    return { bytes: this.#copyOf(shown, size), lastSeq, frames: shown.length, skipped, counts };
  }

  /** Copies frames of the ring, `size` bytes in all, to memory that is valid for this turn of the event loop. */
  #copyOf(seqs: readonly number[], size: number): Uint8Array | undefined {
    if (size === 0) return undefined;
    this.#resetSoon();
    const bytes = this.#writeBuffer.take(size);
    let at = 0;
    for (const seq of seqs) {
      this.#ring.copyTo(bytes, at, seq);
      at += this.#ring.sizeOf(seq);
    }
    return bytes;
  }

  #resetSoon(): void {
    if (this.#resetScheduled) return;
    this.#resetScheduled = true;
    setImmediate(() => {
      this.#resetScheduled = false;
      this.#chunks.clear();
      this.#writeBuffer.reset();
    });
  }

  #read(after: number, subscription: HubSubscription): Promise<FrameChunk | undefined> {
    return this.#readRows(after, subscription, ({ rows, chunks }) => {
      const { view } = subscription;
      let chunk = chunks.get(view.key);
      if (!chunk && (chunk = chunkOfRows(rows, view))) chunks.set(view.key, chunk);
      return chunk;
    });
  }

  async #readRows<C extends FrameChunk>(
    after: number,
    subscription: HubSubscription,
    render: (page: Page) => C | undefined,
  ): Promise<C | undefined> {
    const { page: size } = subscription;
    const page = await this.#reads.page(after, size, this.#end);
    const chunk = render(page);
    const used = page.rows.findIndex((row) => row.seq === chunk?.lastSeq) + 1;
    subscription.page = used < page.rows.length ? Math.max(LEAST_PAGE, used) : Math.min(PAGE, 2 * size);
    return chunk;
  }

  #onCommit(commit: Commit): void {
    const { firstSeq, records, events } = commit;
    const last = firstSeq + records.length + events.length - 1;
    if (last <= this.#end) return;
    this.#end = last;
    if (this.#listeners.size === 0) return;
    if (events.some(({ type }) => type === 'audit.erased' || type === 'ledger.pruned')) this.#ring.clear();
    for (const [i, { agentId, userId }] of records.entries()) this.#store(commit, i, 'audit', agentId, userId);
    for (const [i, { type, agentId, userId }] of events.entries())
      this.#store(commit, records.length + i, type, agentId ?? null, userId ?? null);
    this.#events += records.length + events.length;
    if (this.#roundScheduled) return;
    this.#roundScheduled = true;
    // Responses to the decisions are written first.
    setImmediate(() => this.#wakeNextBatch());
  }

  #store(commit: Commit, index: number, type: string, agentId: Id<'agent'> | null, userId: Id<'user'> | null): void {
    const seq = commit.firstSeq + index;
    const topics = this.#topics.of(type, agentId, userId);
    this.#ring.push(seq, type, topics.length > 0 ? rowAt(commit, index) : undefined, this.#selecting > 0);
    if (this.#ring.last === seq) for (const topic of topics) topic.push(seq, this.#ring);
  }

  #wakeNextBatch(): void {
    if (this.#round.length === 0) {
      this.#roundScheduled = this.#events > 0;
      if (!this.#roundScheduled) return;
      this.#round = [...this.#listeners];
      this.#batchSize = Math.ceil(this.#round.length / batchesOf(this.#round.length, this.#events));
      this.#events = 0;
    }
    for (const listener of this.#round.splice(0, this.#batchSize)) listener.wake();
    setTimeout(() => this.#wakeNextBatch(), BATCH_PAUSE_MS);
  }

  /**
   * Looks for commits of other processes. Before that, the history detects whether the database has lost commits,
   * because rows after such a loss do not continue those that were sent.
   */
  async #poll(): Promise<void> {
    this.#pollAgain = this.#polling;
    if (this.#polling) return;
    this.#polling = true;
    await this.#platform.ledger.history.read();
    this.#polling = false;
    if (this.#pollAgain) await this.#poll();
  }

  #onHead(seq: number, epoch: number): void {
    if (this.#listeners.size === 0) return;
    const newer = seq > this.#end;
    if (newer) this.#end = seq;
    // Another instance may have erased what is in memory.
    if (newer) this.#ring.clear();
    const epochChanged = epoch !== this.#epoch;
    this.#epoch = epoch;
    for (const listener of [...this.#listeners]) {
      if (epochChanged) listener.revalidate();
      if (newer) listener.wake();
    }
  }
}

export const eventHub = defineState((platform) => new EventHub(platform));
