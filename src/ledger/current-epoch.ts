import type { Database, SqliteDatabase } from '../storage/index.ts';

/**
 * The epoch that is committed at the moment of asking, by whichever instance: for what is kept in memory outside the ledger's
 * turn and has to be dropped with the very next change. Many that ask in one turn of the event loop share one query, which
 * always begins after the last of them has asked.
 */
export class CurrentEpoch {
  readonly #database: Database;
  /** Changes that this instance has committed. */
  readonly #changes: () => number;
  /** SQLite: what was read in this turn, good until a change of ours. */
  #read: { readonly epoch: number; readonly changes: number } | undefined;
  /** PostgreSQL: the query that those who ask now wait for. */
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
