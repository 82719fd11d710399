import { yieldOnce } from '../kernel/yield-once.ts';

/** Concurrent requests. SQLite is read without waiting, so more than one would only hold up other work. */
const MAX_RUNNING = { sqlite: 1, postgres: 3 } as const;
/** An answer of more characters is long: other work runs before the next one begins. */
const LONG_CHARS = 262_144;

/** Turns of the event loop after a long answer: enough to answer a decision that arrived meanwhile. */
const OTHER_TURNS = 8;

/** What a turn ends with; as long as its text. */
interface Answered {
  readonly body?: unknown;
}

/**
 * Lets a few requests for long pages run at a time. People with waiting requests take turns, so that one who reads many
 * long pages at once delays others by a few pages, not by all of them.
 */
export class PageTurns {
  readonly #max: number;
  #running = 0;
  /** Waiting requests, by the person whose request begins next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(dialect: keyof typeof MAX_RUNNING) {
    this.#max = MAX_RUNNING[dialect];
  }

  /**
   * Runs work when it is its turn.
   * @param work `waited`: others ran first, so that what was checked before may have changed
   */
  async run<T extends Answered>(owner: string, work: (waited: boolean) => Promise<T>): Promise<T> {
    const waits = this.#running >= this.#max;
    if (waits) await this.#wait(owner);
    else this.#running++;
    let isLong = true;
    try {
      const answer = await work(waits);
      isLong = typeof answer.body === 'string' && answer.body.length > LONG_CHARS;
      return answer;
    } finally {
      // The answer is sent first.
      if (isLong) void this.#endLater();
      else this.#end();
    }
  }

  async #endLater(): Promise<void> {
    for (let i = 0; i < OTHER_TURNS; i++) await yieldOnce();
    this.#end();
  }

  #wait(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner);
      if (own) own.push(resolve);
      else this.#waiting.set(owner, [resolve]);
    });
  }

  /** The turn goes to the person who has not had one for longest. */
  #end(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running--;
      return;
    }
    const [owner, own] = first;
    const next = own.shift();
    this.#waiting.delete(owner);
    if (own.length > 0) this.#waiting.set(owner, own);
    next?.();
  }
}
