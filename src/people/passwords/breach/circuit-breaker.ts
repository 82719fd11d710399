import { setMaxListeners } from 'node:events';

/** What an outage may cost: the time of `failures` look-ups, and then one more each time `restMs` have passed. */
export interface CircuitBreakerOptions {
  readonly restMs: number;
  /** Failures in a row until it opens. */
  readonly failures: number;
  readonly now: () => number;
}

/**
 * Keeps calls away from a service that does not answer. While it is open, calls fail at once; when the rest is over one call goes
 * through as a probe, and its success closes it. Calls under way when it opens are told by `signal`, so that they wait no longer.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #openUntil: number | undefined;
  #probing = false;
  #abort = newAbort();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get open(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Runs the call, or gives undefined at once. A call that throws has failed. */
  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const probe = this.#openUntil !== undefined;
    if (probe) {
      if (this.#probing || this.#options.now() < (this.#openUntil as number)) return undefined;
      this.#probing = true;
    }
    const { signal } = this.#abort;
    try {
      const result = await call(signal);
      this.#failures = 0;
      this.#openUntil = undefined;
      return result;
    } catch (error) {
      if (!signal.aborted && (probe || ++this.#failures >= this.#options.failures)) this.#trip();
      throw error;
    } finally {
      if (probe) this.#probing = false;
    }
  }

  #trip(): void {
    this.#failures = 0;
    this.#openUntil = this.#options.now() + this.#options.restMs;
    this.#abort.abort();
    this.#abort = newAbort();
  }
}

/** Any number of calls may wait for one. */
function newAbort(): AbortController {
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  return abort;
}
