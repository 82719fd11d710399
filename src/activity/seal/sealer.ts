import { CommonErrors } from '../../kernel/errors.ts';
import type { Commit } from '../../ledger/index.ts';
import { Lease, LedgerFollower, lastWithin, readHead, Superseded } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { SealRow } from '../../storage/index.ts';
import { writeAnchor } from './anchor.ts';
import { NewestSeen } from './continues.ts';
import { ABSENT, decisionTexts, eventTexts, leafHash, remainsLeaf, storedTexts } from './entry-text.ts';
import { keepCheckpoint } from './kept-checkpoints.ts';
import { checkpointText, type NoteSigner, openCheckpoint, signCheckpoint } from './note.ts';
import { Salts } from './salts.ts';
import { lockLog, readLog, readRemains, readSealedRows, readTiles, writeTiles } from './store.ts';
import { TreeEdge } from './tree.ts';

/** Maximum number of rows that are read at once when catching up. */
const SLICE = 500;
/** Pause between two slices. */
const PAUSE_MS = 5;
/** Number of committed rows that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 20_000;
/** Interval at which the sealer checks whether the tree must be stored or signed. */
const LOOK_MS = 250;
/** The tree is stored when a checkpoint is due, and otherwise after this time or this many full tiles. */
const STORE_MS = 1000;
const MAX_TILES = 64;
/** Pause after a failure. */
const RETRY_MS = 5000;
/** Shortest time between two checkpoints that are signed on request. */
const ON_DEMAND_MS = 100;
/** Interval at which an instance checks whether another one still seals. */
const LOOK_AGAIN_MS = 2000;
/** A background run ends after this time and continues in the next one, so that a stop does not wait for it. */
const RUN_MS = 1000;
/** A stop seals as many rows as it can in this time. Other instances, or the next start, seal the rest. */
const STOP_MS = 2000;
/**
 * A requested checkpoint covers the rows that can be read in this time, because other instances may commit just as
 * fast.
 */
const CATCH_UP_MS = 4000;
/** One signed checkpoint is kept for each interval of this length. */
const KEEP_MS = 60_000;
const ANCHOR_FAILED = 'The newest checkpoint cannot be written to the data folder. Try again.';

/** The fields of the log that the sealer needs. */
interface OpenLog {
  readonly id: string;
  readonly origin: string;
  readonly signers: readonly NoteSigner[];
  /** Sequence of the event with which the log began. Nothing is signed before it is in the tree. */
  readonly begunAt: number;
}

/**
 * Adds every row of the ledger to the tree, in order of its sequence and after its commit, and signs the root.
 *
 * Tiles are committed before a checkpoint over them is signed, and a checkpoint is committed, and written to the data
 * folder, before it is given out. Therefore two trees of one size are never signed: after a crash the next checkpoint
 * covers the committed tiles. Only one of several instances writes at a time; the others drop their copies in memory. A
 * failure never affects decisions.
 */
export class Sealer {
  readonly #platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log'>;
  readonly #follower: LedgerFollower;
  readonly #salts = new Salts();
  #log: OpenLog | undefined;
  #edge: TreeEdge | undefined;
  /** Size of the tree that is stored, on which `#edge` builds. */
  #stored = 0;
  #storedAt = Number.NEGATIVE_INFINITY;
  /** Held by the instance that seals. */
  readonly #lease: Lease;
  /** Newest checkpoint that this instance has signed or read. */
  #signedSize = 0;
  #signedAt = Number.NEGATIVE_INFINITY;
  readonly #seen = new NewestSeen();
  #halted: string | undefined;
  #onDemand: Promise<void> | undefined;
  /** Size of the newest checkpoint in this instance's data folder. */
  #anchoredSize = 0;
  /** Checkpoints are written to the data folder one after the other. */
  #anchored: Promise<void> = Promise.resolve();
  /** A checkpoint that could not be written to the data folder. It is tried again until that one or a newer one is. */
  #unanchored: { readonly note: string; readonly size: number } | undefined;
  #keptAt = Number.NEGATIVE_INFINITY;
  /** Whether the newest checkpoint lacks the signature of one of the keys, so that it must be signed again. */
  #signsAgain = false;

  constructor(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log'>) {
    this.#platform = platform;
    this.#lease = new Lease(platform.database, 'seal');
    this.#follower = new LedgerFollower({
      database: platform.database,
      sliceSize: SLICE,
      maxHeldRows: MAX_HELD_ROWS,
      readStart: () => this.#load(),
      onSlice: (from, upto) => this.#addRows(from, upto),
      afterSlice: async () => {
        await this.#lease.hold();
        if ((this.#edge?.waiting ?? 0) >= MAX_TILES) await this.#store();
      },
      onCommit: (commit, joins) => this.#addCommit(commit, joins),
      pause: () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)),
      background: {
        run: () => this.#follower.exclusively(() => this.#runForAWhile()),
        delayMs: LOOK_MS,
        onError: (error) => {
          platform.log.warn({ err: error }, 'the ledger could not be sealed; sealing is tried again');
          this.#follower.runSoon(RETRY_MS);
        },
      },
    });
  }

  /** Begins sealing. Called once, at the start. */
  open(
    log: OpenLog,
    { signed_size, halted, checkpoint }: Pick<SealRow, 'signed_size' | 'halted' | 'checkpoint'>,
  ): void {
    const { ledger } = this.#platform;
    this.#log = log;
    this.#signsAgain = checkpoint !== null && log.signers.some((signer) => !openCheckpoint(checkpoint, [signer]));
    this.#signedSize = signed_size;
    this.#seen.add(checkpoint);
    this.#halted = halted ?? undefined;
    ledger.onCommit(this.#follower.commit);
    ledger.history.onHead((seq) => {
      if (seq > (this.#follower.position ?? 0)) this.#follower.runSoon();
    });
    ledger.history.onLoss(() => {
      void this.#follower.exclusively(async () => this.#reset());
    });
    this.#follower.runSoon();
  }

  /** Whether this instance seals. */
  get isOpen(): boolean {
    return this.#log !== undefined;
  }

  /** Whether the newest checkpoint cannot be written to the data folder, so that nobody gets it. */
  get cannotAnchor(): boolean {
    return this.#unanchored !== undefined;
  }

  /** The reason why signing has stopped. */
  get halted(): string | undefined {
    return this.#halted;
  }

  /** The keys that sign, newest first. */
  get signers(): readonly NoteSigner[] {
    return this.#log?.signers ?? [];
  }

  /**
   * Signs a checkpoint that contains all rows committed now. Concurrent calls share one, of which there are at most ten
   * a second.
   */
  signNow(): Promise<void> {
    this.#onDemand ??= this.#signOnDemand().finally(() => {
      this.#onDemand = undefined;
    });
    return this.#onDemand;
  }

  async #signOnDemand(): Promise<void> {
    const wait = this.#signedAt + ON_DEMAND_MS - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    await this.#follower.exclusively(() => this.#run(true, performance.now() + CATCH_UP_MS));
  }

  /** Stores and signs the tree in memory, and stops. */
  async stop(): Promise<void> {
    if (!this.#log) return;
    await this.#follower.exclusively(() => this.#run(true, performance.now() + STOP_MS)).catch(() => {});
    await this.#follower.stop();
    await this.#lease.release().catch(() => {});
  }

  async #runForAWhile(): Promise<void> {
    const deadline = performance.now() + RUN_MS;
    await this.#run(false, deadline);
    if (this.#unanchored) await this.#anchor(this.#unanchored.note, this.#unanchored.size);
    if (performance.now() >= deadline) this.#follower.runSoon(0);
  }

  /** Catches up with the ledger, stores the tree, and signs it if a checkpoint is due. */
  async #run(now: boolean, deadline: number): Promise<void> {
    if (!this.#log || this.#halted !== undefined) return;
    if (!now && !(await this.#lease.hold())) return this.#wait();
    for (let attempt = 0; attempt < 3 && performance.now() < deadline && this.#halted === undefined; attempt++) {
      try {
        if (this.#edge && (await this.#seen.isAheadOf(this.#platform.database.read))) this.#reset();
        await this.#follower.catchUp(deadline);
        const sinceSigned = performance.now() - this.#signedAt;
        const isDue = now || sinceSigned >= this.#platform.config.ledger.sealIntervalMs;
        const isFull = (this.#edge?.waiting ?? 0) >= MAX_TILES;
        if (isDue || isFull || performance.now() - this.#storedAt >= STORE_MS) await this.#store(isDue);
        break;
      } catch (error) {
        this.#reset();
        if (!(error instanceof Superseded)) throw error;
        if (!now) return this.#wait();
        if (attempt === 2) this.#follower.runSoon();
      }
    }
    if (this.#edge && (this.#edge.size > this.#signedSize || this.#edge.size > this.#stored)) this.#follower.runSoon();
  }

  /** Lets another instance seal. Checks later whether it does, if there is something to seal. */
  async #wait(): Promise<void> {
    this.#reset();
    const { read } = this.#platform.database;
    const log = await readLog(read);
    if (log?.log_id === this.#log?.id) this.#seen.add(log?.checkpoint ?? null);
    if ((await readHead(read)) > (log?.signed_size ?? 0)) this.#follower.runSoon(LOOK_AGAIN_MS);
  }

  #reset(): void {
    this.#edge = undefined;
    this.#follower.reset();
  }

  /** Reads the right edge of the stored tree. */
  async #load(): Promise<number> {
    const db = this.#platform.database.read;
    const seen = this.#seen.newest;
    const log = await readLog(db);
    if (!log || log.log_id !== this.#log?.id) {
      this.#halt('Another log has begun in this database. Restart the service.');
      throw new Superseded();
    }
    const lost = await this.#seen.whyLost(this.#platform, log, seen);
    if (lost?.reason !== undefined) this.#halt(lost.reason);
    if (lost) throw new Superseded();
    this.#edge = TreeEdge.from(log.size, await readTiles(db, TreeEdge.openTiles(log.size)));
    this.#stored = log.size;
    return log.size;
  }

  #addCommit({ firstSeq, records, events, timestamp }: Commit, joins: boolean): boolean {
    const edge = this.#edge;
    this.#follower.runSoon();
    if (!joins || !edge || this.#halted !== undefined || edge.size !== firstSeq - 1) return false;
    let seq = firstSeq;
    for (const record of records) {
      const at = this.#salts.next();
      edge.add(leafHash(decisionTexts(seq++, timestamp, this.#salts.hex(at), record).leaf), this.#salts.bytes, at);
    }
    for (const { id, type, agentId = null, userId = null, data } of events) {
      const at = this.#salts.next();
      const event = { id, type, agentId, userId, data: JSON.stringify(data) };
      edge.add(leafHash(eventTexts(seq++, timestamp, this.#salts.hex(at), event).leaf), this.#salts.bytes, at);
    }
    if (edge.waiting >= MAX_TILES) this.#follower.runSoon(0);
    return true;
  }

  async #addRows(from: number, end: number): Promise<number> {
    const { database } = this.#platform;
    const edge = this.#edge;
    const upto = await lastWithin(database, from, end);
    const rows = await readSealedRows(database, database.read, from, upto);
    const remains = await readRemains(database.read, from, upto);
    if (!edge || edge.size !== from - 1) throw new Superseded();
    let next = 0;
    for (let seq = from; seq <= upto; seq++) {
      const row = rows[next]?.seq === seq ? rows[next++] : undefined;
      const at = this.#salts.next();
      const left = remains.get(seq);
      const isWhole = row !== undefined && !left;
      const texts = storedTexts(seq, row, left, this.#salts.hex(at));
      // A decision whose whole row was erased has no content left that another log could seal.
      const leaf = texts?.leaf ?? remainsLeaf(seq, ABSENT);
      edge.add(leafHash(leaf), isWhole ? this.#salts.bytes : NO_SALT, isWhole ? at : 0);
    }
    return upto;
  }

  /** Stores the current tree, then signs it if a checkpoint is due. */
  async #store(isDue = false): Promise<void> {
    const { database, ledger } = this.#platform;
    const edge = this.#edge;
    const log = this.#log;
    if (!edge || !log) return;
    const { size } = edge;
    const isUnsigned = size > this.#signedSize || (this.#signsAgain && size === this.#signedSize);
    const root = isDue && size >= log.begunAt && isUnsigned ? edge.root() : undefined;
    if (size > this.#stored) {
      const tiles = edge.unstored();
      await ledger.maintain(async (db) => {
        const row = await lockLog(database, db);
        if (row?.log_id !== log.id || row.size !== this.#stored) throw new Superseded();
        if (row.halted !== null) this.#halt(row.halted);
        await writeTiles(db, tiles, this.#stored);
        await db.updateTable('seal').set({ size }).execute();
      });
      edge.stored(size);
      this.#stored = size;
      this.#storedAt = performance.now();
    }
    if (root) await this.#sign(log, size, root);
  }

  async #sign({ id, origin, signers }: OpenLog, size: number, root: Buffer): Promise<void> {
    const { database, ledger, clock } = this.#platform;
    const now = clock.now();
    // With witnesses, checkpoints are kept with their cosignatures.
    const isKept = this.#platform.config.ledger.policy === undefined && Math.abs(now - this.#keptAt) >= KEEP_MS;
    const note = signCheckpoint({ origin, size, root }, signers);
    const row = await ledger.maintain(async (db) => {
      const locked = await lockLog(database, db);
      if (locked?.log_id !== id || locked.size < size) throw new Superseded();
      if (locked.halted !== null) {
        this.#halt(locked.halted);
        return locked;
      }
      if (locked.signed_size < this.#seen.size || locked.signed_size > size) return locked;
      const isSameTree = locked.checkpoint?.startsWith(checkpointText({ origin, size, root })) === true;
      if (locked.signed_size === size && !(this.#signsAgain && isSameTree)) return locked;
      await db.updateTable('seal').set({ checkpoint: note, signed_size: size }).execute();
      if (isKept) await keepCheckpoint(db, { log_id: id, size, note, signed_at: now });
      return { ...locked, checkpoint: note, signed_size: size };
    });
    if (row.signed_size < this.#seen.size) {
      // The next run finds that the database has lost a checkpoint, and stops sealing.
      throw new Superseded();
    }
    this.#signedAt = performance.now();
    this.#signedSize = row.signed_size;
    this.#seen.add(row.checkpoint);
    this.#signsAgain = false;
    if (row.signed_size !== size) return;
    if (isKept) this.#keptAt = now;
    await this.#anchor(note, size);
  }

  /** Makes a checkpoint durable in the data folder, before anybody gets it. Throws 503 STORAGE_UNAVAILABLE. */
  #anchor(note: string, size: number): Promise<void> {
    const write = async (): Promise<void> => {
      if (size <= this.#anchoredSize) return;
      await writeAnchor(this.#platform.config.dataDir, note).catch((cause: unknown) => {
        if (size > (this.#unanchored?.size ?? 0)) this.#unanchored = { note, size };
        this.#follower.runSoon(RETRY_MS);
        throw CommonErrors.STORAGE_UNAVAILABLE({ message: ANCHOR_FAILED, cause });
      });
      this.#anchoredSize = size;
      if (size >= (this.#unanchored?.size ?? 0)) this.#unanchored = undefined;
    };
    this.#anchored = this.#anchored.then(write, write);
    return this.#anchored;
  }

  /** Stops sealing on every instance, until the log is ended with `legate ledger recover`. */
  async haltForGood(reason: string): Promise<void> {
    const id = this.#log?.id;
    if (id === undefined) return;
    this.#halt(reason);
    await this.#platform.ledger.maintain((db) =>
      db.updateTable('seal').set({ halted: reason }).where('log_id', '=', id).execute(),
    );
  }

  #halt(reason: string): void {
    if (this.#halted === undefined) this.#platform.log.error({ reason }, 'the ledger is no longer sealed');
    this.#halted = reason;
  }

  /** Age of the oldest row that no checkpoint covers; 0 if there is none. */
  async lagSeconds(): Promise<number> {
    const { database, clock } = this.#platform;
    const log = await readLog(database.read);
    if (!log) return 0;
    const oldest = await database.read
      .selectFrom('stream_events')
      .select('timestamp')
      .where('seq', '>', log.signed_size)
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst();
    return oldest ? Math.max(0, clock.now() - oldest.timestamp) / 1000 : 0;
  }

  /** The newest checkpoint and its log. It is in the data folder on return. */
  async newest(): Promise<(SealRow & { checkpoint: string }) | undefined> {
    const log = await readLog(this.#platform.database.read);
    if (log?.checkpoint === null || !log) return undefined;
    if (log.log_id !== this.#log?.id || !openCheckpoint(log.checkpoint, this.signers)) return undefined;
    this.#seen.add(log.checkpoint);
    await this.#anchor(log.checkpoint, log.signed_size);
    return { ...log, checkpoint: log.checkpoint };
  }
}

const NO_SALT = Buffer.alloc(16);

export const sealer = defineState((platform) => new Sealer(platform));
