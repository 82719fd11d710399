/** The rows of one commit. */
export interface RecentCommit<R> {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly rows: readonly R[];
}

/**
 * Rows of commits that a follower could not process immediately, kept so that it need not read them from the ledger.
 */
export class RecentRows<R extends { readonly seq: number }> {
  readonly #maxRows: number;
  #commits: RecentCommit<R>[] = [];
  #count = 0;

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /** Beyond `maxRows`, rows are read from the ledger. */
  add(commit: RecentCommit<R>): void {
    if (this.#count >= this.#maxRows) return;
    this.#commits.push(commit);
    this.#count += commit.rows.length;
  }

  clear(): void {
    this.#keep([]);
  }

  /** Returns the rows from `from` to `upto` if this instance committed all of them, and drops older ones. */
  slice(from: number, upto: number): R[] | undefined {
    const commits = this.#commits;
    let next = from;
    let at = 0;
    while (at < commits.length && (commits[at] as RecentCommit<R>).lastSeq < next) at++;
    const first = at;
    const rows: R[] = [];
    for (; at < commits.length && next <= upto; at++) {
      const commit = commits[at] as RecentCommit<R>;
      if (commit.firstSeq > next) break;
      for (const row of commit.rows) if (row.seq >= next && row.seq <= upto) rows.push(row);
      next = commit.lastSeq + 1;
    }
    // Rows after a gap are kept; rows before it are useless.
    const whole = next > upto;
    this.#keep(commits.slice(whole ? first : Math.max(first, at)));
    return whole ? rows : undefined;
  }

  /** Passes each commit after `position` to `take` while it returns true, and drops those commits. */
  drain(position: number, take: (commit: RecentCommit<R>) => boolean): void {
    const left = this.#commits.findIndex((commit) => commit.lastSeq > position && !take(commit));
    this.#keep(left === -1 ? [] : this.#commits.slice(left));
  }

  #keep(commits: RecentCommit<R>[]): void {
    this.#commits = commits;
    this.#count = commits.reduce((sum, { rows }) => sum + rows.length, 0);
  }
}
