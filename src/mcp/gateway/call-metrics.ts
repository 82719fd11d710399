import { Histogram } from '../../kernel/histogram.ts';
import { LabelCounter } from '../../kernel/label-counter.ts';
import { defineState } from '../../platform.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Counts calls of tools for GET /metrics. */
export class CallMetrics {
  /** Number of calls by server and outcome. */
  readonly calls = new LabelCounter();
  /** Durations by server. The names come from the configuration, so their number is limited. */
  readonly seconds = new Map<string, Histogram>();

  observe(server: string, outcome: string, durationMs: number): void {
    this.calls.add(server, outcome);
    let seconds = this.seconds.get(server);
    if (!seconds) this.seconds.set(server, (seconds = new Histogram(SECONDS)));
    seconds.observe(durationMs / 1000);
  }
}

export const callMetrics = defineState(() => new CallMetrics());
