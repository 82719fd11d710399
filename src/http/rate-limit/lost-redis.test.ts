import { expect, it, onTestFinished } from 'vitest';
import { redisUrl } from '../../../test/support/redis-server.ts';
import { wireTo } from '../../../test/support/redis-wire.ts';
import { createTestService } from '../../../test/support/service.ts';

const url = redisUrl();

it.skipIf(!url)('the next metrics report a lost Redis, even if nothing was counted in between', async () => {
  const redis = await wireTo(url as string);
  onTestFinished(() => redis.close());
  const t = await createTestService({ config: { rateLimit: { store: 'redis', redisUrl: redis.url } } });
  const admin = await t.admin();
  const up = async () =>
    /^legate_rate_limit_redis_up (\d)$/m.exec((await t.call('GET', '/metrics', { as: admin })).text)?.[1];
  expect(await up()).toBe('1');
  await redis.cut();
  expect(await up()).toBe('0');
  await redis.mend();
  await expect.poll(up, { timeout: 60_000 }).toBe('1');
});
