import type { Database, SqliteDatabase } from '../storage/index.ts';

/**
 * The newest committed epoch of any instance. It is for caches that are used without the head row's lock and must be
 * dropped with the next change. Requests in one event-loop tick share one query, which starts after the last of them.
 */
export class CurrentEpoch {
  readonly #database: Database;
  /** Number of changes that this instance has committed. */
  readonly #changes: () => number;
  /** SQLite: the epoch read in this tick. It is valid until this instance makes a change. */
  #read: { readonly epoch: number; readonly changes: number } | undefined;
  /** PostgreSQL: the query that starts at the end of this tick. */
  #next: Promise<number> | undefined;

  constructor(database: Database, changes: () => number) {
    this.#database = database;
    this.#changes = changes;
  }

  get(): number | Promise<number> {
    return this.#database.dialect === 'sqlite' ? this.#fromFile(this.#database) : this.#fromServer();
  }

  #fromFile({ reader, prefix }: SqliteDatabase): number {
    const changes = this.#changes();
    if (this.#read?.changes === changes) return this.#read.epoch;
    if (!this.#read) setImmediate(() => (this.#read = undefined));
    const rows = reader.prepare(`select epoch from ${prefix}head where id = 1`).all([]);
    const epoch = Number(rows[0]?.['epoch']);
    this.#read = { epoch, changes };
    return epoch;
  }

  #fromServer(): Promise<number> {
    this.#next ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#next = undefined;
        this.#database.read
          .selectFrom('head')
          .select('epoch')
          .where('id', '=', 1)
          .executeTakeFirstOrThrow()
          .then((row) => resolve(row.epoch), reject);
      });
    });
    return this.#next;
  }
}
