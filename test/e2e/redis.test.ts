import { describe, expect, it } from 'vitest';
import { legate, scratchFolder, serve } from '../support/cli.ts';
import type { Running } from '../support/process.ts';
import { startRedis } from '../support/redis-wire.ts';

const redis = await startRedis();

const send = (running: Running, path: string, token?: string, body?: object): Promise<Response> =>
  fetch(`${running.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

describe.skipIf(!redis)('a service whose Redis is frozen (SIGSTOP) under load', () => {
  it('still decides, reports that it is degraded, counts limits itself, and uses Redis again afterwards', async () => {
    if (!redis) return;
    const cwd = scratchFolder();
    const metricsToken = 'm'.repeat(32);
    const running = await serve({
      cwd,
      env: { LEGATE_REDIS_URL: redis.url, LEGATE_RATE_LIMIT_STORE: 'redis', LEGATE_METRICS_TOKEN: metricsToken },
    });
    const signIn = (email: string) => send(running, '/sign-in', undefined, { email, password: 'wrong horse battery' });
    const health = async (): Promise<[number, string]> => {
      const answer = await send(running, '/health/ready');
      return [answer.status, ((await answer.json()) as { status: string }).status];
    };
    const isUp = async (): Promise<string | undefined> =>
      (await (await send(running, '/metrics', metricsToken)).text()).match(/^legate_rate_limit_redis_up (\d)/m)?.[1];
    try {
      const token = (await legate(['developer-token'], { cwd })).stdout.trim();
      const { user } = (await (await send(running, '/auth/session', token)).json()) as { user: { id: string } };
      const permissions = [{ resource: 'db:*', actions: ['read'] }];
      const made = await send(running, '/agents', token, { ownerId: user.id, name: 'a', type: 'service', permissions });
      const agent = ((await made.json()) as { token: string }).token;
      expect([await health(), await isUp()]).toEqual([[200, 'ready'], '1']);

      let isOver = false;
      const answers: number[] = [];
      const clients = Array.from({ length: 6 }, async () => {
        while (!isOver) {
          const answer = await send(running, '/authorize', agent, { action: 'read', resource: 'db:x' });
          answers.push(answer.ok && ((await answer.json()) as { allowed: boolean }).allowed ? 200 : answer.status);
        }
      });
      const more = async (): Promise<void> => {
        const before = answers.length;
        await expect.poll(() => answers.length).toBeGreaterThan(before + 100);
      };
      await more();
      redis.signal('SIGSTOP');
      // Each request waits for Redis until the timeout, and is then counted in this process.
      const tries = await Promise.all(Array.from({ length: 14 }, (_, i) => signIn(`nobody${i}@example.com`)));
      const statuses = tries.map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
      expect(await health()).toEqual([200, 'degraded']);
      await more();
      redis.signal('SIGCONT');
      await expect.poll(health).toEqual([200, 'ready']);
      await expect.poll(isUp).toBe('1');
      await more();
      isOver = true;
      await Promise.all(clients);
      expect(answers.filter((status) => status !== 200)).toEqual([]);
      expect(await running.stop()).toBe(0);
    } finally {
      redis.stop();
    }
  });
});
