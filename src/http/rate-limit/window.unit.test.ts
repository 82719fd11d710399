import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXACT_UP_TO } from './outcome.ts';
import { newWindow } from './window.ts';

const WINDOW = 60_000;

/** The pauses between requests in ms. Many are 0, and some are as long as a window. */
const pauses = (max: number) =>
  fc.array(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 2000 }),
      fc.constantFrom(WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW),
      fc.integer({ min: 0, max: WINDOW }),
    ),
    {
      maxLength: max,
      size: 'max',
    },
  );
const START = Date.parse('2030-01-15T10:10:12.345Z');

describe('a window of up to 64 requests', () => {
  it('allows a request exactly when fewer than the limit were allowed within the window before it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: EXACT_UP_TO }), pauses(300), (limit, gaps) => {
        const window = newWindow(limit);
        const allowed: number[] = [];
        let now = START;
        for (const gap of gaps) {
          now += gap;
          const live = allowed.filter((at) => at + WINDOW > now);
          const outcome = window.take(limit, WINDOW, now);
          expect(outcome.allowed).toBe(live.length < limit);
          if (outcome.allowed) allowed.push(now);
          expect(outcome.remaining).toBe(outcome.allowed ? limit - live.length - 1 : 0);
          expect(outcome.waitMs).toBe((live[0] ?? now) + WINDOW - now);
        }
      }),
    );
  });

  it('a clock that is set back neither reopens nor extends the window', () => {
    const window = newWindow(2);
    expect(window.take(2, WINDOW, START).allowed).toBe(true);
    expect(window.take(2, WINDOW, START - 3_600_000).allowed).toBe(true);
    expect(window.take(2, WINDOW, START - 3_600_000)).toEqual({ allowed: false, remaining: 0, waitMs: WINDOW });
    expect(window.take(2, WINDOW, START + WINDOW).allowed).toBe(true);
  });
});

describe('a larger window', () => {
  it('allows a request exactly if the count of this clock window and the weighted one of the last leave room', () => {
    fc.assert(
      fc.property(fc.integer({ min: EXACT_UP_TO + 1, max: 90 }), pauses(400), (limit, gaps) => {
        const window = newWindow(limit);
        const counts = new Map<number, number>();
        let now = START;
        for (const gap of gaps) {
          now += gap;
          const bucket = Math.floor(now / WINDOW);
          const share = 1 - (now % WINDOW) / WINDOW;
          const used = (counts.get(bucket) ?? 0) + (counts.get(bucket - 1) ?? 0) * share;
          const outcome = window.take(limit, WINDOW, now);
          expect(outcome.allowed).toBe(used + 1 <= limit + 1e-9);
          if (outcome.allowed) counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
        }
      }),
    );
  });

  it('allows exactly the limit of concurrent requests', () => {
    const window = newWindow(100);
    expect(Array.from({ length: 200 }, () => window.take(100, WINDOW, START)).filter((o) => o.allowed)).toHaveLength(
      100,
    );
  });
});

describe('the retry time of a refused request', () => {
  it('is the first moment at which the request will be allowed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90 }), pauses(300), (limit, gaps) => {
        const history: number[] = [];
        const replay = (until: number) => {
          const window = newWindow(limit);
          for (const at of history) window.take(limit, WINDOW, at);
          return window.take(limit, WINDOW, until);
        };
        let now = START;
        for (const gap of [...gaps, ...Array.from({ length: limit + 1 }, () => 7)]) history.push((now += gap));
        const refused = replay(now);
        if (refused.allowed) return;
        expect(refused.waitMs).toBeGreaterThan(0);
        expect(replay(now + refused.waitMs).allowed).toBe(true);
        expect(replay(now + refused.waitMs - 1).allowed).toBe(false);
      }),
    );
  });
});
