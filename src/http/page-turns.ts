import { yieldOnce } from '../kernel/yield-once.ts';

/** Long pages that are read at once. SQLite is read without waiting, so more than one would only hold up other work. */
const MAX_RUNNING = { sqlite: 1, postgres: 3 } as const;
/** Turns of the event loop after a long page: enough to answer a decision that arrived meanwhile. */
const OTHER_TURNS = 8;

interface Turn {
  /** Others had their turns first, so what was checked before may have changed. */
  readonly waited: boolean;
  /** To be called once, when the page is ready to be sent. */
  readonly end: () => void;
}

/**
 * Lets a few long pages be read at a time. People with waiting requests take turns, so that one who reads many long
 * pages at once delays others by a few pages, not by all of them.
 */
export class PageTurns {
  readonly #max: number;
  #running = 0;
  /** Waiting requests, by the person whose page is read next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(dialect: keyof typeof MAX_RUNNING) {
    this.#max = MAX_RUNNING[dialect];
  }

  /** Resolves when it is the turn of a request of this person. `end` has to be called, also after an error. */
  async take(owner: string): Promise<Turn> {
    const waited = this.#running >= this.#max;
    if (waited) await this.#wait(owner);
    else this.#running++;
    return { waited, end: () => void this.#end() };
  }

  #wait(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner);
      if (own) own.push(resolve);
      else this.#waiting.set(owner, [resolve]);
    });
  }

  /** The turn goes to the person who has not had one for longest, after the page was sent and other work has run. */
  async #end(): Promise<void> {
    for (let i = 0; i < OTHER_TURNS; i++) await yieldOnce();
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
