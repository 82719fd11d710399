import {
  type Commit,
  EVENT_COLUMNS,
  LedgerFollower,
  movePosition,
  readHead,
  readPosition,
  Superseded,
} from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { bulkInsert, type Db } from '../../storage/index.ts';
import { changeOfRow, changesOf, NO_CHANGES, type StoredChange } from './change-rows.ts';

const FOLLOWER = 'changes';
/** Rows of the ledger that one query reads. */
const SLICE = 2000;
/** Changes that one transaction stores: decisions wait for it on SQLite. */
const AT_ONCE = 250;
/** Rows of commits that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 20_000;
/** Delay between a change and its copy. A request for changes does not wait for it. */
const SOON_MS = 1000;
const RETRY_MS = 1000;
/** Changes that are read for one request if they cannot be stored. */
const MAX_UNSTORED = 10_000;
/** Rows after which upkeep moves the stored position although no change is among them. */
const MAX_BEHIND = 20_000;
/** Longest catching up in one piece of upkeep: a service that stops waits for it. */
const UPKEEP_MS = 1000;

// An instance of an older version, which still runs, has stored its changes itself.
const insertChanges = bulkInsert('changes', { ...EVENT_COLUMNS, actor_id: 'text' }, 'on conflict (seq) do nothing');

const insertSubjects = bulkInsert(
  'change_subjects',
  { subject: 'text', seq: 'bigint' },
  'on conflict (subject, seq) do nothing',
);

/**
 * Copies changes from the ledger to the tables of GET /changes, shortly after their commit, so that changes themselves
 * and the decisions that wait for them are spared the indexes. Readers catch up first.
 */
export class KeptChanges {
  readonly #platform: Pick<Platform, 'database' | 'ledger'>;
  readonly #follower: LedgerFollower;
  /** Changes of this instance, up to the position in memory, that are not stored. */
  #waiting: StoredChange[] = [];
  /** The stored position, as this instance knows it. */
  #stored = 0;

  constructor(platform: Pick<Platform, 'database' | 'ledger' | 'log'>) {
    this.#platform = platform;
    const { database, ledger, log } = platform;
    this.#follower = new LedgerFollower({
      database,
      sliceSize: SLICE,
      maxHeldRows: MAX_HELD_ROWS,
      readStart: async () => {
        this.#waiting = [];
        this.#stored = (await readPosition(database.read, FOLLOWER)) ?? 0;
        return this.#stored;
      },
      onSlice: async (from, upto) => {
        this.#waiting.push(...(await this.#read(from, upto)));
        await this.#store(upto);
        return upto;
      },
      onCommit: (commit, joins) => this.#add(commit, joins),
      background: {
        run: () => this.#follower.exclusively(() => this.#run()),
        delayMs: SOON_MS,
        onError: (error) => {
          log.warn({ err: error }, 'changes could not be copied for GET /changes; this is tried again');
          this.#follower.runSoon(RETRY_MS);
        },
      },
    });
    ledger.onCommit(this.#follower.commit);
    ledger.history.onLoss(() => {
      void this.#follower.exclusively(async () => this.#follower.reset());
    });
  }

  start(): void {
    this.#follower.runSoon();
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  /** Returns the sequence up to which the tables contain every change: at least the newest at the time of the call. */
  catchUp(): Promise<number> {
    return this.#follower.exclusively(() => this.#run());
  }

  /**
   * Catches up. Returns the changes that the tables lack, in their order: none, unless the database cannot be written,
   * because of a full disk for instance.
   */
  async unstored(): Promise<readonly StoredChange[]> {
    const failure = await this.catchUp().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (!failure) return [];
    const { read } = this.#platform.database;
    const stored = (await readPosition(read, FOLLOWER)) ?? 0;
    const changes = await this.#read(stored + 1, await readHead(read));
    if (changes.length > MAX_UNSTORED) throw failure.error;
    return changes;
  }

  /** Called every few seconds, so that a later start or reader does not have to read many decisions. */
  upkeep(): Promise<void> {
    return this.#follower.exclusively(async () => {
      const { read } = this.#platform.database;
      const stored = (await readPosition(read, FOLLOWER)) ?? 0;
      if ((await readHead(read)) - stored < MAX_BEHIND) return;
      if (stored !== this.#stored) this.#follower.reset();
      await this.#run(performance.now() + UPKEEP_MS);
    });
  }

  /** Throws errors of the database, after which the next run begins at the stored position. */
  async #run(deadline?: number): Promise<number> {
    for (;;)
      try {
        const position = await this.#follower.catchUp(deadline);
        await this.#store(position);
        return position;
      } catch (error) {
        this.#follower.reset();
        if (!(error instanceof Superseded)) throw error;
      }
  }

  #add(commit: Commit, joins: boolean): boolean {
    const changes = changesOf(commit);
    if (joins) this.#waiting.push(...changes);
    if (changes.length > 0) this.#follower.runSoon();
    return joins;
  }

  async #read(from: number, upto: number): Promise<StoredChange[]> {
    const rows = await this.#platform.database.read
      .selectFrom('stream_events')
      .select(Object.keys(EVENT_COLUMNS) as (keyof typeof EVENT_COLUMNS)[])
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .where('type', 'not in', NO_CHANGES)
      .orderBy('seq')
      .limit(MAX_UNSTORED + 1)
      .execute();
    return rows.map(changeOfRow);
  }

  /** Stores the waiting changes up to a position. Throws {@link Superseded} if another instance has stored some. */
  async #store(upto: number): Promise<void> {
    const due = this.#waiting.filter(({ change }) => change.seq <= upto);
    if (due.length === 0 && upto - this.#stored < MAX_BEHIND) return;
    this.#waiting = this.#waiting.filter(({ change }) => change.seq > upto);
    do {
      const some = due.splice(0, AT_ONCE);
      const end = due.length === 0 ? upto : (some.at(-1)?.change.seq ?? upto);
      await this.#platform.ledger.maintain((db) => this.#write(db, some, end));
      this.#stored = end;
    } while (due.length > 0);
  }

  async #write(db: Db, some: readonly StoredChange[], end: number): Promise<void> {
    const { database } = this.#platform;
    await movePosition(db, [FOLLOWER], this.#stored, end);
    await insertChanges(
      database,
      db,
      some.map(({ change }) => change),
    );
    await insertSubjects(
      database,
      db,
      some.flatMap(({ subjects }) => subjects),
    );
  }
}

export const keptChanges = defineState((platform) => new KeptChanges(platform));

/** Returns the copies of changes of a service. */
export const keptChangesOf = ({ stateOf }: Pick<Platform, 'stateOf'>): KeptChanges => stateOf(keptChanges);
