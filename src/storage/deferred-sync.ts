import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import type { SqliteHandle } from './sqlite-handle.ts';

/** A disk that syncs this fast is waited for on this thread, which is cheaper than a thread of the pool. */
const QUICK_MS = 0.5;

const failed = (cause: unknown): Error =>
  Object.assign(
    new Error('The disk failed to write. Nothing more is written until the service is started again.', { cause }),
    { code: 'SQLITE_IOERR_FSYNC' },
  );

/**
 * Commits of SQLite that do not block this thread while the disk writes. A commit only appends to the log
 * (synchronous=NORMAL); `durable` then syncs the log, as synchronous=FULL does within the commit. No caller may learn
 * of a commit before.
 *
 * After a failed sync it is unknown what is on the disk, even after a later one succeeds: the connection is closed, and
 * nothing can be written until the service starts again.
 */
export class DeferredSync {
  readonly #writer: SqliteHandle;
  readonly #path: string;
  #log: number | undefined;
  #lastMs = 0;
  #pending: Promise<void> | undefined;
  /** Whether `durable` is called later. Otherwise it is called after each statement. */
  isDeferred = false;

  /** @param path of the database file. */
  constructor(writer: SqliteHandle, path: string) {
    this.#writer = writer;
    this.#path = path;
    writer.exec('pragma synchronous = normal');
  }

  /** Called before a transaction begins. */
  defer(): void {
    this.isDeferred = true;
  }

  /** Called when the transaction has ended. */
  restore(): void {
    this.isDeferred = false;
  }

  /** Resolves when every commit is on the disk. Returns undefined if that is so on return. */
  durable(): Promise<void> | undefined {
    // The log keeps its file as long as the writer is open. A descriptor of it has no locks that closing it would drop.
    this.#log ??= openSync(`${this.#path}-wal`, 'r+');
    const file = this.#log;
    const start = performance.now();
    const ended = (error: unknown): void => {
      this.#lastMs = performance.now() - start;
      if (error) this.#writer.close();
    };
    if (this.#lastMs > QUICK_MS)
      return (this.#pending = new Promise((resolve, reject) => {
        fdatasync(file, (error) => {
          this.#pending = undefined;
          ended(error);
          if (error) reject(failed(error));
          else resolve();
        });
      }));
    try {
      fdatasyncSync(file);
      ended(undefined);
      return undefined;
    } catch (error) {
      ended(error);
      throw failed(error);
    }
  }

  /** Resolves when a commit that is being synced is on the disk, and its caller knows. Rejects if the sync fails. */
  async settled(): Promise<void> {
    if (!this.#pending) return;
    await this.#pending;
    await new Promise((resolve) => setImmediate(resolve));
  }

  close(): void {
    if (this.#log !== undefined) closeSync(this.#log);
    this.#log = undefined;
  }
}
