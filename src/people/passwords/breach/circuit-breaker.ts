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
  #openUntil: number | undefined;
  #probing = false;
  #abort = newAbort();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get open(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Runs the call, or returns undefined immediately while open. A call that throws counts as a failure. */
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

/** Any number of calls may listen to one signal. */
function newAbort(): AbortController {
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  return abort;
}
