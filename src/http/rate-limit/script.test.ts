import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisUrl } from '../../../test/support/redis-server.ts';
import { counterKey, SCRIPT } from './script.ts';
import { newWindow } from './window.ts';

const url = redisUrl();
const START = Date.parse('2030-01-15T10:10:12.345Z');
/** The same script, at a time that the test chooses. */
const timed = SCRIPT.replace("redis.call('TIME')", '{tonumber(ARGV[3]), tonumber(ARGV[4])}');

describe.skipIf(!url)('the script in Redis', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(url as string);
  });
  afterAll(() => redis.disconnect());

  it('returns the same results as the windows in memory, request by request', async () => {
    expect(timed).not.toBe(SCRIPT);
    const gap = fc.oneof(fc.constant(0), fc.integer({ min: -50, max: 500 }), fc.constantFrom(999, 1000, 1001, 2500));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 60, max: 70 })),
        fc.array(gap, { maxLength: 160, size: 'max' }),
        async (limit, gaps) => {
          const key = `test:${randomUUID()}`;
          const window = newWindow(limit);
          let now = START;
          const calls = redis.pipeline();
          const wanted = gaps.map((pause) => {
            now += pause;
            calls.eval(timed, 1, counterKey(key, limit), limit, 1000, Math.floor(now / 1000), (now % 1000) * 1000);
            const { allowed, remaining, waitMs } = window.take(limit, 1000, now);
            return [allowed ? 1 : 0, remaining, waitMs];
          });
          const said = (await calls.exec())?.map(([, answer]) => answer);
          expect(said).toEqual(wanted);
          await redis.del(counterKey(key, limit));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('removes keys after their windows', async () => {
    for (const [limit, suffix, most] of [
      [5, 'log', 60_000],
      [100, 'sum', 120_000],
    ] as const) {
      const key = `test:${randomUUID()}`;
      await redis.eval(SCRIPT, 1, counterKey(key, limit), limit, 60_000);
      const left = await redis.pttl(`${key}:${suffix}`);
      expect(left).toBeGreaterThan(most - 10_000);
      expect(left).toBeLessThanOrEqual(most);
    }
  });
});
