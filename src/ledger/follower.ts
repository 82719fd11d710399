import { yieldOnce } from '../kernel/yield-once.ts';
import type { Database } from '../storage/index.ts';
import type { Commit } from './entry.ts';
import { lastSeqOf, readHead, Superseded } from './position.ts';

export interface FollowerOptions {
  readonly database: Database;
  /** Sequence numbers processed at once when rows are read from the ledger. */
  readonly sliceSize: number;
  /**
   * Returns the sequence number up to which all rows are processed and stored. Called at the first use and after {@link
   * LedgerFollower.reset}.
   */
  readonly readStart: () => Promise<number>;
  /** Returns the last row that may be processed now. By default the newest one. */
  readonly readEnd?: () => Promise<number>;
  /**
   * Processes the rows from `from` to `upto`, both inclusive. Returns the last row processed, which may be earlier;
   * `from - 1` ends the catch-up. If it throws {@link Superseded}, the catch-up starts again from the stored position.
   */
  readonly onSlice: (from: number, upto: number) => Promise<number>;
  /** Called after each slice, when the position is up to date. May throw {@link Superseded} as well. */
  readonly afterSlice?: () => Promise<void>;
  /**
   * Processes a commit of this instance in memory. `joins`: all rows before it are processed. Returns whether it has
   * processed the commit; otherwise a later slice does.
   */
  readonly onCommit?: (commit: Commit, joins: boolean) => boolean;
  /**
   * Maximum number of committed rows that are held during a catch-up and passed to `onCommit` after the slice that they
   * follow. Without it, a follower under load would have to read every row that was committed during a slice.
   */
  readonly maxHeldRows?: number;
  /** Pause between slices. By default one turn of the event loop. */
  readonly pause?: () => Promise<void>;
  /** The work of {@link LedgerFollower.runSoon} and its delay. The follower continues after an error. */
  readonly background?: {
    readonly run: () => Promise<unknown>;
    readonly delayMs: number;
    readonly onError: (error: unknown) => void;
  };
}

/**
 * Processes every row of the ledger once, in order: commits of this instance as they happen, and in slices the commits
 * of other instances, missed commits, and those from before the start. Several instances may follow under one name:
 * each stores its progress with {@link movePosition}, and the slower one starts again from the stored position.
 *
 * A follower never delays or fails a commit: its errors in the background go to `background.onError`, and it yields
 * between slices. `exclusively` runs its work in one order.
 */
export class LedgerFollower {
  readonly #o: FollowerOptions;
  #position: number | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isDue = false;
  #stopped = false;
  #endPause = (): void => {};
  /** Commits that happened while earlier rows were read, oldest first. */
  #held: Commit[] = [];
  #heldRows = 0;
  #catchUps = 0;

  constructor(options: FollowerOptions) {
    this.#o = options;
  }

  /** Sequence number up to which all rows are processed in memory; undefined before the first catch-up. */
  get position(): number | undefined {
    return this.#position;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Listener of `Ledger.onCommit`. */
  readonly commit = (commit: Commit): void => {
    if (this.#o.onCommit?.(commit, this.#position === commit.firstSeq - 1)) this.#position = lastSeqOf(commit);
    else if (this.#catchUps > 0 && this.#heldRows < (this.#o.maxHeldRows ?? 0)) {
      this.#held.push(commit);
      this.#heldRows += commit.records.length + commit.events.length;
    }
  };

  /** Processes held commits that directly follow the position, synchronously, so that no other commit can intervene. */
  #takeHeld(): void {
    if (this.#held.length === 0) return;
    const held = this.#held;
    this.#dropHeld();
    for (const commit of held) {
      if (commit.firstSeq <= (this.#position ?? Number.POSITIVE_INFINITY)) continue;
      this.commit(commit);
    }
  }

  #dropHeld(): void {
    this.#held = [];
    this.#heldRows = 0;
  }

  /** Forgets the position in memory, so that the next catch-up begins at the stored one. */
  reset(): void {
    this.#position = undefined;
  }

  /** Sets the position after rows were processed outside a slice. */
  moveTo(position: number): void {
    this.#position = position;
  }

  /**
   * Processes the rows up to the newest one at the time of the call, or until the deadline. Returns the position. Rows
   * that other instances commit meanwhile wait for the next catch-up, because reading a few at a time is expensive.
   */
  async catchUp(deadline = Number.POSITIVE_INFINITY): Promise<number> {
    this.#catchUps++;
    try {
      return await this.#catchUp(deadline);
    } finally {
      if (--this.#catchUps === 0) this.#dropHeld();
    }
  }

  async #catchUp(deadline: number): Promise<number> {
    const { database, sliceSize, onSlice, afterSlice, readEnd = () => readHead(database.read) } = this.#o;
    let end: number | undefined;
    for (;;) {
      this.#position ??= await this.#o.readStart();
      if (end === undefined) {
        end = await readEnd();
        // Followers process only what cannot be lost.
        if (database.dialect === 'sqlite') await database.deferredSync.settled();
      }
      if (this.#position >= end || this.#stopped) return this.#position;
      while (this.#position !== undefined && this.#position < end && !this.#stopped) {
        const from: number = this.#position + 1;
        const upto = Math.min(this.#position + sliceSize, end);
        try {
          this.#position = await onSlice(from, upto);
          if (this.#position < from) return this.#position;
          await afterSlice?.();
          this.#takeHeld();
        } catch (error) {
          if (!(error instanceof Superseded)) throw error;
          this.reset();
        }
        await this.#pause();
        if (performance.now() > deadline && this.#position !== undefined) return this.#position;
      }
    }
  }

  /** A stop also ends the pause. */
  #pause(): Promise<void> {
    const { pause = yieldOnce } = this.#o;
    return new Promise((resolve, reject) => {
      this.#endPause = resolve;
      pause().then(resolve, reject);
    });
  }

  /** Runs work after all earlier work. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /**
   * Runs in the background after a delay, once for all calls until then. A shorter delay replaces a longer one. Calls
   * during a run cause one further run, so that a stop never waits for more than one.
   */
  runSoon(delayMs?: number): void {
    const { background } = this.#o;
    if (this.#stopped || !background) return;
    if (delayMs !== undefined && delayMs < background.delayMs) this.#timer = void clearTimeout(this.#timer);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#isDue = true;
      void this.#runDue();
    }, delayMs ?? background.delayMs).unref();
  }

  async #runDue(): Promise<void> {
    const { background } = this.#o;
    if (this.#isRunning || !background) return;
    this.#isRunning = true;
    while (this.#isDue && !this.#stopped) {
      this.#isDue = false;
      await background.run().catch(background.onError);
    }
    this.#isRunning = false;
  }

  /** Starts no further work and waits for the work in progress, but not for its pauses. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#endPause();
    await this.#last;
  }
}
