import { describe, expect, it } from 'vitest';
import { type Answered, createTestService, type TestService } from '../support/service.ts';

/** What is limited, how often (specification 8.1), and a request of which the body is never looked at. */
const limits: [path: string, name: string, limit: number][] = [
  ['/sign-in', 'signIn', 10],
  ['/sign-up', 'signUp', 5],
];

/** `n` requests with a body that no schema fits. */
async function send(t: TestService, path: string, n: number, o: { ip?: string; headers?: Record<string, string> } = {}): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let i = 0; i < n; i++) answers.push(await t.call('POST', path, { raw: '{', headers: { 'content-type': 'application/json', ...o.headers }, ...(o.ip ? { ip: o.ip } : {}) }));
  return answers;
}
const statuses = (answers: Answered[]): number[] => answers.map((a) => a.status);
const times = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value);

describe('the limit of an endpoint', () => {
  it.each(limits)('POST %s: %s, %i a minute for a client address, counted before the body is read', async (path, name, limit) => {
    const t = await createTestService({ config: { rateLimit: {} } });
    const answers = await send(t, path, limit);
    expect(statuses(answers)).toEqual(times(limit, 400));
    expect(answers.map((a) => a.headers.get('ratelimit'))).toEqual(Array.from({ length: limit }, (_, i) => `"${name}";r=${limit - 1 - i};t=60`));
    t.clock.advance(20_500);
    const [refused] = await send(t, path, 1);
    expect(refused?.status).toBe(429);
    expect(refused?.body).toEqual({ error: { code: 'RATE_LIMIT_EXCEEDED', message: expect.any(String), details: { limit, window: 60, retryAfter: 40 } } });
    expect(Object.fromEntries(refused?.headers ?? [])).toMatchObject({
      'content-type': 'application/json',
      'retry-after': '40',
      'ratelimit-policy': `"${name}";q=${limit};w=60`,
      ratelimit: `"${name}";r=0;t=40`,
      'cache-control': 'no-store',
    });
    // Another client has a limit of its own, and what is not this endpoint is not limited by it.
    expect(statuses(await send(t, path, 1, { ip: '192.0.2.2' }))).toEqual([400]);
    expect((await t.call('GET', '/health/live')).status).toBe(200);
    // At the instant the first request is a window old, and not a millisecond before.
    t.clock.advance(39_499);
    expect(statuses(await send(t, path, 1))).toEqual([429]);
    t.clock.advance(1);
    expect(statuses(await send(t, path, limit + 1))).toEqual([...times(limit, 400), 429]);
  });
});
