import { SECOND_MS } from '../../kernel/clock.ts';
import { Lease, readHead } from '../../ledger/index.ts';
import type { Database } from '../../storage/index.ts';

/** The number of rows after which an instance counts decisions of others, even if decisions keep arriving. */
export const MAX_FOREIGN_ROWS = 20_000;

/** Upkeep, which renews the lease, runs every 5 seconds. */
const LEASE_MS = 12 * SECOND_MS;

/**
 * Decides when an instance counts the rows that others committed. If each instance read them every few seconds, all of
 * them would read every decision. So they wait until the ledger is quiet, or until many rows are missing in the tables:
 * then one instance counts them and stores its counts, and the others continue from there. A request for the numbers
 * does not wait, but counts the missing rows.
 */
export class ForeignRows {
  readonly #database: Database;
  readonly #maxRows: number;
  /** Held by the instance that counts for all. */
  readonly #lease: Lease;
  #head = -1;
  #isDue = false;

  /** @param name of the counts, the same on every instance. */
  constructor(database: Database, name: string, maxRows: number) {
    this.#database = database;
    this.#maxRows = maxRows;
    this.#lease = new Lease(database, name, LEASE_MS);
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
    if (position >= head) return false;
    return (!isQuiet && !this.#isDue) || !(await this.#lease.hold());
  }

  /**
   * Returns whether so many uncounted rows are already in the stored counts that it is less work to continue from
   * those.
   */
  isBehind(position: number, stored: number): boolean {
    return stored - position >= this.#maxRows;
  }
}
