import { expect, it, onTestFinished } from 'vitest';
import { redisUrl } from '../../../test/support/redis-server.ts';
import { wireTo } from '../../../test/support/redis-wire.ts';
import { createTestService } from '../../../test/support/service.ts';
import { systemClock } from '../../kernel/clock.ts';
import { SharedStore } from './shared-store.ts';

const url = redisUrl();

it.skipIf(!url)('the next metrics report a lost Redis, even if nothing was counted in between', async () => {
  const redis = await wireTo(url as string);
  onTestFinished(() => redis.close());
  const t = await createTestService({ config: { rateLimit: { store: 'redis', redisUrl: redis.url } } });
  const admin = await t.admin();
  const up = async () =>
    /^legate_rate_limit_redis_up (\d)$/m.exec((await t.call('GET', '/metrics', { as: admin })).text)?.[1];
  // A busy machine may answer the first question too late.
  await expect.poll(up, { timeout: 60_000 }).toBe('1');
  await redis.cut();
  expect(await up()).toBe('0');
  await redis.mend();
  await expect.poll(up, { timeout: 60_000 }).toBe('1');
});

it.skipIf(!url)('an answer of Redis that arrived while the process was busy counts', async () => {
  const store = new SharedStore({ url: url as string, prefix: 'busy:', clock: systemClock, onChange: () => {} });
  onTestFinished(() => store.close());
  await store.take('x', 2, 60_000);
  const taking = store.take('x', 2, 60_000);
  const until = performance.now() + 600;
  while (performance.now() < until);
  expect(await taking).toMatchObject({ allowed: true, remaining: 0 });
  expect([store.up, store.fallbacks]).toEqual([true, 0]);
});
