import { Histogram } from '../kernel/histogram.ts';

/** Bounds in seconds. A decision is below the first; a sign-in with its password hash is in the middle. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Requests of one method and path pattern. */
export interface EndpointMetrics {
  readonly method: string;
  readonly route: string;
  /** Status -> number of answers. */
  readonly statuses: Map<number, number>;
  readonly seconds: Histogram;
}

/** Metrics of requests, one series for each declared route. */
export class RequestMetrics {
  readonly #byName = new Map<string, EndpointMetrics>();

  of(method: string, route: string): EndpointMetrics {
    const name = `${method} ${route}`;
    let metrics = this.#byName.get(name);
    if (!metrics) {
      metrics = { method, route, statuses: new Map(), seconds: new Histogram(SECONDS) };
      this.#byName.set(name, metrics);
    }
    return metrics;
  }

  /** Returns the endpoints with at least one request. */
  used(): readonly EndpointMetrics[] {
    return [...this.#byName.values()].filter(({ statuses }) => statuses.size > 0);
  }
}

export function count({ statuses, seconds }: EndpointMetrics, status: number, ms: number): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  seconds.observe(ms / 1000);
}
