import { InProgress } from '../../kernel/in-progress.ts';
import type { Passed } from '../guard/guard.ts';

const CHECK_MS = 500;

interface Work {
  readonly kind: 'stream' | 'request';
  readonly person: string | undefined;
  readonly alive: (() => Promise<boolean>) | undefined;
  readonly begunAt: number;
  readonly end: () => void;
}

/** Streams and requests of clients, which end within a second after the token of the client was revoked. */
export class InForce {
  readonly #works = new InProgress<Work>();
  #lastNumber = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Returns a function that is to be called at the end of the work. */
  add(kind: Work['kind'], { auth, rules }: Passed, end: () => void): () => void {
    const number = ++this.#lastNumber;
    const [person, alive, begunAt] = [auth?.userId, rules?.alive, performance.now()];
    this.#works.set(number, { kind, person, alive, begunAt, end });
    this.#timer ??= setInterval(() => void this.#check(), CHECK_MS).unref();
    return () => this.#works.delete(number);
  }

  get #streams(): Work[] {
    return this.#works.values().filter(({ kind }) => kind === 'stream');
  }

  /** The people who have streams. */
  people(): string[] {
    return this.#streams.flatMap(({ person }) => person ?? []);
  }

  /** Ends the streams of a person, or all. Requests end with their connection to the server. */
  endStreams(person?: string): void {
    for (const stream of this.#streams) if (person === undefined || stream.person === person) stream.end();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.endStreams();
  }

  async #check(): Promise<void> {
    const works = this.#works.values();
    if (works.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const before = performance.now() - CHECK_MS;
    // The token of a request that takes less time was valid when it was decided.
    for (const { alive, begunAt, end } of works)
      if (begunAt <= before && alive && !(await alive().catch(() => true))) end();
  }
}
