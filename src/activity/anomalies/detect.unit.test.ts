import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import { detect, type Kind, newState, type Thresholds } from './detect.ts';

const DEFAULTS: Thresholds = {
  enabled: true,
  denialBurst: { count: 20, windowSeconds: 60 },
  rateSpike: { factor: 5, minCalls: 50, warmUp: 12 },
  newNamespace: { warmUpCalls: 100 },
  unusualHour: { warmUpDays: 7, sharePercent: 1 },
  probing: { resources: 10, windowSeconds: 600 },
};
const MIDNIGHT = Date.parse('2030-01-15T00:00:00.000Z');
/** The beginning of a five-minute period. */
const MORNING = MIDNIGHT + 9 * HOUR_MS;

/** Drives the detection for one agent. `found` has the anomalies of one kind, as milliseconds since MORNING. */
function watched(kind: Kind, thresholds: { readonly [K in keyof Thresholds]?: Thresholds[K] } = {}) {
  const state = newState();
  const found: number[] = [];
  let n = 0;
  const once = (at: number, resource: string, allowed: boolean): void => {
    const seen = { auditId: `aud_${n++}`, resource, allowed, at: MORNING + at };
    for (const one of detect(state, seen, { ...DEFAULTS, ...thresholds })) if (one.kind === kind) found.push(at);
    // A round trip through JSON, in which the state is stored.
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  };
  const times = (count: number, at: number, resource: string | ((i: number) => string), allowed: boolean): void => {
    for (let i = 0; i < count; i++) once(at, typeof resource === 'string' ? resource : resource(i), allowed);
  };
  return {
    found,
    refused: (count: number, at: number, resource: string | ((i: number) => string) = 'no') =>
      times(count, at, resource, false),
    allowed: (count: number, at: number, resource: string | ((i: number) => string) = 'db:x') =>
      times(count, at, resource, true),
  };
}

describe('denial_burst', () => {
  it('begins with the refusal that reaches the count, and ends after a window without refusals', () => {
    const w = watched('denial_burst');
    w.refused(19, 0);
    w.allowed(100, 1);
    expect(w.found).toEqual([]);
    w.refused(1, 59_999);
    w.refused(100, 60_000);
    // One refusal a minute continues the episode and does not start a new one.
    for (const minute of [1.9, 2.8, 3.7]) w.refused(30, minute * MINUTE_MS);
    expect(w.found).toEqual([59_999]);
    w.refused(19, 5 * MINUTE_MS);
    expect(w.found).toEqual([59_999]);
    w.refused(1, 5 * MINUTE_MS);
    expect(w.found).toEqual([59_999, 5 * MINUTE_MS]);
  });

  it('is not reported for refusals further apart than the window', () => {
    const w = watched('denial_burst');
    for (let i = 0; i < 200; i++) w.refused(1, i * 3160);
    expect(w.found).toEqual([]);
  });

  it('depends on its thresholds', () => {
    const w = watched('denial_burst', { denialBurst: { count: 3, windowSeconds: 10 } });
    for (const second of [0, 5, 10, 14]) w.refused(1, second * SECOND_MS);
    expect(w.found).toEqual([14_000]);
  });
});

it('refusals of a fast clock are no part of those after the time of the ledger was set back', () => {
  for (const [kind, resource, count] of [
    ['denial_burst', 'no', 20],
    ['resource_probing', (i: number) => `no:${i}`, 10],
  ] as const) {
    const fast = watched(kind);
    fast.refused(count - 1, DAY_MS, resource);
    fast.refused(1, 0, 'other');
    expect([kind, fast.found]).toEqual([kind, []]);
    const reported = watched(kind);
    reported.refused(count, DAY_MS, resource);
    reported.refused(count, 0, resource);
    expect([kind, reported.found]).toEqual([kind, [DAY_MS, 0]]);
  }
});

describe('resource_probing', () => {
  it('begins when enough different resources are refused in the window, and ends after one without refusals', () => {
    const w = watched('resource_probing');
    w.refused(50, 0, (i) => `no:${i % 9}`);
    w.allowed(50, 0, (i) => `db:${i}`);
    expect(w.found).toEqual([]);
    w.refused(1, 1, 'no:9');
    w.refused(50, 9 * MINUTE_MS, (i) => `other:${i}`);
    w.refused(50, 18 * MINUTE_MS, (i) => `more:${i}`);
    expect(w.found).toEqual([1]);
    w.refused(10, 28 * MINUTE_MS, (i) => `again:${i}`);
    expect(w.found).toEqual([1, 28 * MINUTE_MS]);
  });

  it('depends on its thresholds', () => {
    const w = watched('resource_probing', { probing: { resources: 2, windowSeconds: 5 } });
    w.refused(1, 0, 'a');
    w.refused(1, 5000, 'b');
    expect(w.found).toEqual([]);
    w.refused(1, 9999, 'c');
    expect(w.found).toEqual([9999]);
  });
});

describe('rate_spike', () => {
  const PERIOD = 5 * MINUTE_MS;
  /** An agent that makes two calls every five minutes, for an hour. */
  const calm = (thresholds?: Parameters<typeof watched>[1]) => {
    const w = watched('rate_spike', thresholds);
    for (let i = 0; i < 12; i++) w.allowed(2, i * PERIOD);
    return w;
  };

  it('begins with the call that reaches the factor, and ends with a period below it', () => {
    const w = calm();
    w.allowed(49, 12 * PERIOD);
    expect(w.found).toEqual([]);
    w.allowed(100, 12 * PERIOD + 1);
    w.allowed(100, 13 * PERIOD);
    expect(w.found).toEqual([12 * PERIOD + 1]);
    w.allowed(2, 14 * PERIOD);
    w.allowed(60, 15 * PERIOD);
    expect(w.found).toEqual([12 * PERIOD + 1, 15 * PERIOD]);
  });

  it('ends with a period without calls as well', () => {
    const w = calm();
    for (const period of [12, 14, 100]) w.allowed(60, period * PERIOD);
    expect(w.found).toEqual([12, 14, 100].map((period) => period * PERIOD));
  });

  it('is not reported before there is a baseline, nor where many calls are usual', () => {
    const w = watched('rate_spike');
    for (let i = 0; i < 11; i++) w.allowed(2, i * PERIOD);
    w.allowed(500, 11 * PERIOD);
    const busy = watched('rate_spike');
    for (let i = 0; i < 30; i++) busy.allowed(40, i * PERIOD);
    busy.allowed(199, 30 * PERIOD);
    expect([w.found, busy.found]).toEqual([[], []]);
    busy.allowed(1, 30 * PERIOD);
    expect(busy.found).toEqual([30 * PERIOD]);
  });

  it('depends on its thresholds', () => {
    const w = calm({ rateSpike: { factor: 3, minCalls: 4, warmUp: 5 } });
    w.allowed(5, 12 * PERIOD);
    expect(w.found).toEqual([]);
    w.allowed(1, 12 * PERIOD);
    expect(w.found).toEqual([12 * PERIOD]);
  });
});

describe('new_namespace', () => {
  it('is reported once per namespace, for the first allowed call of an agent with earlier calls', () => {
    const w = watched('new_namespace');
    w.allowed(99, 0, (i) => `mcp:s${i % 3}:tool`);
    w.allowed(1, 1, 'db:x');
    w.refused(5, 2, 'files:x');
    w.allowed(5, 3, 'files:x');
    w.allowed(5, 4, 'mcp:s0:other');
    w.allowed(5, 5, 'mcp:s9:tool');
    w.allowed(5, DAY_MS, 'files:y');
    expect(w.found).toEqual([3, 5]);
  });

  it('depends on its threshold', () => {
    const w = watched('new_namespace', { newNamespace: { warmUpCalls: 2 } });
    for (const at of [0, 1, 2, 3]) w.allowed(1, at, `n${at}:x`);
    expect(w.found).toEqual([2, 3]);
  });
});

describe('unusual_hour', () => {
  /** An agent that works from nine to eleven on each of some days. */
  const steady = (days: number, thresholds?: Parameters<typeof watched>[1]) => {
    const w = watched('unusual_hour', thresholds);
    for (let day = 0; day < days; day++) for (const hour of [0, 1, 2]) w.allowed(10, day * DAY_MS + hour * HOUR_MS);
    return w;
  };
  /** Milliseconds from MORNING to the given hour of the given day. */
  const at = (day: number, hour: number): number => day * DAY_MS + (hour - 9) * HOUR_MS;

  it('is reported once per clock hour, and not next to a usual hour', () => {
    const w = steady(8);
    w.allowed(5, at(8, 3));
    w.allowed(5, at(8, 3) + 30 * MINUTE_MS);
    w.allowed(5, at(8, 8));
    w.allowed(5, at(8, 12));
    w.allowed(5, at(8, 14));
    expect(w.found).toEqual([at(8, 3), at(8, 14)]);
  });

  it('is not reported again once the hour has become usual', () => {
    const w = steady(8);
    for (let day = 8; day < 30; day++) w.allowed(10, at(day, 3));
    expect(w.found).toEqual([at(8, 3)]);
  });

  it('is not reported before there are usual hours', () => {
    const w = steady(6);
    w.allowed(5, at(6, 3));
    expect(w.found).toEqual([]);
  });

  it('depends on its thresholds', () => {
    const early = steady(1, { unusualHour: { warmUpDays: 1, sharePercent: 1 } });
    early.allowed(1, at(1, 3));
    expect(early.found).toEqual([at(1, 3)]);
    for (const [sharePercent, found] of [
      [5, []],
      [50, [at(9, 3)]],
    ] as const) {
      const w = steady(8, { unusualHour: { warmUpDays: 8, sharePercent } });
      // The hour has a seventh of the agent's decisions.
      w.allowed(40, at(8, 3) - DAY_MS);
      w.allowed(1, at(9, 3));
      expect([sharePercent, w.found]).toEqual([sharePercent, found]);
    }
  });
});
