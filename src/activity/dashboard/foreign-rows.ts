import { readHead } from '../../ledger/index.ts';
import type { Database } from '../../storage/index.ts';

/** The number of rows after which an instance counts decisions of others, even if decisions keep arriving. */
export const MAX_FOREIGN_ROWS = 20_000;

/**
 * Decides when an instance counts the rows that others committed. If each instance read them every few seconds, all of
 * them would read every decision. So they wait until the ledger is quiet, or until many rows are missing in the tables:
 * the first instance that counts these stores its counts, and the others continue from there. A request for the numbers
 * does not wait, but counts the missing rows.
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

  /**
   * Returns whether so many uncounted rows are already in the stored counts that it is less work to continue from
   * those.
   */
  isBehind(position: number, stored: number): boolean {
    return stored - position >= this.#maxRows;
  }
}
