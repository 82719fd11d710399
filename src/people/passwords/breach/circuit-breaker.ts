import { setMaxListeners } from 'node:events';

/** Bounds the cost of an outage: `failures` look-ups, then one more every `restMs`. */
export interface CircuitBreakerOptions {
  readonly restMs: number;
  /** Number of consecutive failures that open the breaker. */
  readonly failures: number;
  readonly now: () => number;
}

/**
 * Stops calls to a service that does not answer. While open, calls fail immediately; after `restMs` one call probes
 * the service, and its success closes the breaker. Opening aborts pending calls through `signal`.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #openedAt: number | undefined;
  #probing = false;
  #abort = newAbort();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get open(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Runs the call, or returns undefined immediately while open. A call that throws counts as a failure. */
  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const probe = this.#openedAt !== undefined;
    if (probe) {
      const openFor = this.#options.now() - (this.#openedAt as number);
      // A clock that was set back does not extend the rest time.
      if (this.#probing || (openFor >= 0 && openFor < this.#options.restMs)) return undefined;
      this.#probing = true;
    }
    const { signal } = this.#abort;
    try {
      const result = await call(signal);
      this.#failures = 0;
      this.#openedAt = undefined;
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
    this.#openedAt = this.#options.now();
    this.#abort.abort();
    this.#abort = newAbort();
  }
}

/** Any number of calls may listen to one signal. */
function newAbort(): AbortController {
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  return abort;
}
