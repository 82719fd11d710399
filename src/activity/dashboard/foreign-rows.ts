import { readHead } from '../../ledger/index.ts';
import type { Database } from '../../storage/index.ts';

/** Number of rows after which an instance counts what others decided, although decisions keep coming. */
export const MAX_FOREIGN_ROWS = 20_000;

/**
 * Tells an instance when to count the rows that others committed. If each read them every few seconds, every decision
 * would be read by all of them. So they wait until the ledger is quiet, or until many rows are missing in the tables:
 * the first instance that counts these stores its counts, and the others continue from there. A request for the numbers
 * does not wait; it counts what is missing.
 */
export class ForeignRows {
  readonly #database: Database;
  readonly #maxRows: number;
  #head = -1;
  #isDue = false;

  constructor(database: Database, maxRows: number) {
    this.#database = database;
    this.#maxRows = maxRows;
  }

  /** Whether the counts must be stored now, because other instances would read the same rows. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /**
   * Returns whether the rows of other instances may wait.
   *
   * @param position up to which this instance has counted
   * @param stored up to which the counts are stored
   */
  async mayWait(position: number, stored: number): Promise<boolean> {
    if (this.#database.dialect === 'sqlite') return false;
    const head = await readHead(this.#database.read);
    const isQuiet = head === this.#head;
    this.#head = head;
    const missing = head - Math.max(position, stored);
    this.#isDue = missing >= this.#maxRows;
    return position < head && !isQuiet && !this.#isDue;
  }

  /** Returns whether so much is stored that was not counted here that it is less work to begin there. */
  isBehind(position: number, stored: number): boolean {
    return stored - position >= this.#maxRows;
  }
}
