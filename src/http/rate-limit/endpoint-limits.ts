import type { Clock } from '../../kernel/clock.ts';
import type { EndpointLimits, LimitResult } from '../../platform/endpoint-limits.ts';
import type { LimitedEndpoint } from '../../platform/limited-endpoints.ts';
import { addressGroup } from '../client-address.ts';
import { MemoryStore } from './memory-store.ts';
import { type Outcome, type Verdict, verdictOf } from './outcome.ts';
import { limitHeaders, rateLimitExceeded } from './refusal.ts';
import { SharedStore } from './shared-store.ts';

export interface EndpointLimitsOptions {
  readonly endpoints: Readonly<Record<LimitedEndpoint, { readonly limit: number; readonly window: number }>>;
  /** Absent: counters are in memory. */
  readonly redisUrl?: string | undefined;
  /** Prefix of every key in Redis. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly onStoreChange: (up: boolean, error?: unknown) => void;
}

/** Counts in this process, or in Redis for all instances. */
export class CountedEndpointLimits implements EndpointLimits {
  readonly refusals = new Map<LimitedEndpoint, number>();
  readonly #o: EndpointLimitsOptions;
  readonly #memory = new MemoryStore();
  readonly #shared: SharedStore | undefined;

  constructor(options: EndpointLimitsOptions) {
    this.#o = options;
    const { redisUrl, prefix, clock, onStoreChange } = options;
    this.#shared =
      redisUrl === undefined ? undefined : new SharedStore({ url: redisUrl, prefix, clock, onChange: onStoreChange });
  }

  pass(name: LimitedEndpoint, address: string | null): Promise<LimitResult> {
    return this.passAs(name, addressGroup(address));
  }

  async passAs(name: LimitedEndpoint, caller: string): Promise<LimitResult> {
    const { limit, window } = this.#o.endpoints[name];
    const taken = this.#take(`${name}:${caller}`, limit, window * 1000);
    const verdict: Verdict = verdictOf(limit, window, taken instanceof Promise ? await taken : taken);
    if (verdict.allowed) return { headers: limitHeaders(name, verdict) };
    this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1);
    return { refusal: rateLimitExceeded(name, verdict) };
  }

  #take(key: string, limit: number, windowMs: number): Outcome | Promise<Outcome> {
    return this.#shared
      ? this.#shared.take(key, limit, windowMs)
      : this.#memory.take(key, limit, windowMs, this.#o.clock.now());
  }

  get store(): { readonly up: boolean; readonly fallbacks: number } | undefined {
    return this.#shared;
  }

  /** Connects to Redis if it is used. Resolves within limited time, connected or not. */
  async open(): Promise<void> {
    await this.#shared?.open();
  }

  async ping(): Promise<boolean | undefined> {
    return this.#shared?.ping();
  }

  close(): void {
    this.#shared?.close();
  }
}
