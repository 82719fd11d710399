import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { redisUrl } from '../../../test/support/redis-server.ts';
import { FakeClock } from '../../../test/support/service.ts';
import { createRateLimiter, type RateLimiter, type RateLimiterOptions, withRateLimit } from '../../index.ts';

const url = redisUrl();
const made: RateLimiter[] = [];
afterEach(() => {
  for (const limiter of made.splice(0)) limiter.close();
});
const limiterOf = (options: RateLimiterOptions): RateLimiter => {
  const limiter = createRateLimiter(options);
  made.push(limiter);
  return limiter;
};

const request = (headers: Record<string, string> = {}): Request => new Request('https://app.example/work', { headers });
const hello = () => new Response('hello', { headers: { 'content-type': 'text/plain' } });
const times = (n: number, m: number): boolean[] => [
  ...Array.from({ length: n }, () => true),
  ...Array.from({ length: m }, () => false),
];
async function allowed(limiter: RateLimiter, n: number, ...args: Parameters<RateLimiter['check']>): Promise<boolean[]> {
  const all: boolean[] = [];
  for (let i = 0; i < n; i++) all.push((await limiter.check(...args)).allowed);
  return all;
}

/** Both stores. Each limiter has its own counters. */
const stores: [string, () => Pick<RateLimiterOptions, 'store' | 'redisUrl' | 'name'>][] = [
  ['memory', () => ({ store: 'memory' })],
  ...(url
    ? [
        ['redis', () => ({ store: 'redis', redisUrl: url, name: randomUUID() })] as [
          string,
          () => Pick<RateLimiterOptions, 'store' | 'redisUrl' | 'name'>,
        ],
      ]
    : []),
];

describe.each(stores)('createRateLimiter with store %s', (store, at) => {
  it.each([5, 100])('allows exactly %i of 200 concurrent requests', async (limit) => {
    const limiter = limiterOf({ limit, window: 60, ...at() });
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => limiter.checkKey('a')));
    expect(verdicts.filter((v) => v.allowed)).toHaveLength(limit);
    expect(verdicts.filter((v) => v.allowed).map((v) => v.remaining)).toEqual(
      Array.from({ length: limit }, (_, i) => limit - 1 - i),
    );
    const refused = await limiter.checkKey('a');
    expect(refused).toEqual({ allowed: false, limit, window: 60, remaining: 0, retryAfter: expect.any(Number) });
    expect(Number.isInteger(refused.retryAfter)).toBe(true);
    expect(refused.retryAfter).toBeGreaterThanOrEqual(1);
    expect((await limiter.checkKey('b')).allowed).toBe(true);
  });

  it('counts by keyFn, with keys of any length and form', async () => {
    const limiter = limiterOf({ limit: 1, window: 60, keyFn: async (r) => r.headers.get('x-key') ?? '', ...at() });
    for (const key of [
      'a',
      'b',
      '',
      'é',
      'x'.repeat(100_000),
      `${'x'.repeat(100_000)}y`,
      '__proto__',
      'a\tb',
      '{a}',
      '*',
    ]) {
      const from = request(key === '' ? {} : { 'x-key': key });
      expect(await allowed(limiter, 2, from)).toEqual([true, false]);
    }
  });

  it('an error of keyFn is thrown, and the request is neither counted nor passed on', async () => {
    const handler = vi.fn(hello);
    const limiter = limiterOf({
      limit: 1,
      window: 60,
      keyFn: () => {
        throw new Error('no key');
      },
      ...at(),
    });
    await expect(withRateLimit(handler, limiter)(request())).rejects.toThrow('no key');
    expect(handler).not.toHaveBeenCalled();
  });

  it('withRateLimit: beyond the limit 429 as specified, and the handler is not called', async () => {
    const handler = vi.fn(hello);
    const limiter = limiterOf({ limit: 2, window: 30, ...at() });
    const guarded = withRateLimit(handler, limiter);
    const answers = [await guarded(request()), await guarded(request()), await guarded(request())];
    expect(answers.map((r) => r.status)).toEqual([200, 200, 429]);
    expect(handler).toHaveBeenCalledTimes(2);
    expect(await answers[0]?.text()).toBe('hello');
    expect(answers[1]?.headers.get('ratelimit')).toMatch(new RegExp(`^"${limiter.name}";r=0;t=(30|2[0-9])$`));
    const refused = answers[2] as Response;
    expect(refused.headers.get('content-type')).toBe('application/json');
    const body = await refused.json();
    expect(body).toEqual({
      error: {
        code: 'RATE_LIMIT_EXCEEDED',
        message: expect.any(String),
        details: { limit: 2, window: 30, retryAfter: expect.any(Number) },
      },
    });
    expect(refused.headers.get('retry-after')).toBe(String(body.error.details.retryAfter));
    expect(body.error.details.retryAfter).toBeGreaterThanOrEqual(20);
    expect(body.error.details.retryAfter).toBeLessThanOrEqual(30);
    expect(refused.headers.get('ratelimit-policy')).toBe(`"${limiter.name}";q=2;w=30`);
  });

  it(`two limiters of the same name share their counters ${store === 'redis' ? '' : 'only '}in Redis`, async () => {
    const options = { limit: 2, window: 60, ...at() };
    const [one, two] = [limiterOf(options), limiterOf(options)];
    await allowed(one, 2, request());
    expect((await two.check(request())).allowed).toBe(store === 'memory');
  });
});

describe('withRateLimit', () => {
  it('accepts limiter and handler in either order, and names the expected arguments', async () => {
    const limiter = createRateLimiter({ limit: 1, window: 60 });
    const guarded = withRateLimit(limiter, () => new Response('hello'));
    expect([(await guarded(request())).status, (await guarded(request())).status]).toEqual([200, 429]);
    const anything = withRateLimit as (...args: unknown[]) => unknown;
    for (const wrong of [
      [limiter, limiter],
      [() => new Response(), () => new Response()],
      [limiter],
      [undefined, null],
    ])
      expect(() => anything(...wrong)).toThrow('withRateLimit takes a handler, and a limiter or its options');
  });

  it('creates its limiter from options, one for each handler', async () => {
    const options = { limit: 1, window: 60 };
    const [one, two] = [withRateLimit(hello, options), withRateLimit(hello, options)];
    expect([(await one(request())).status, (await one(request())).status, (await two(request())).status]).toEqual([
      200, 429, 200,
    ]);
  });

  it('one limiter for two handlers counts both', async () => {
    const limiter = limiterOf({ limit: 1, window: 60 });
    expect([
      (await withRateLimit(hello, limiter)(request())).status,
      (await withRateLimit(hello, limiter)(request())).status,
    ]).toEqual([200, 429]);
  });

  it('passes on the further arguments of the framework, and counts by the address in them', async () => {
    const seen = vi.fn(
      (_: Request, connection: { remoteAddress: string }, more: number) =>
        new Response(`${connection.remoteAddress} ${more}`),
    );
    const guarded = withRateLimit(seen, { limit: 1, window: 60 });
    expect(await (await guarded(request(), { remoteAddress: '203.0.113.7' }, 7)).text()).toBe('203.0.113.7 7');
    expect((await guarded(request(), { remoteAddress: '203.0.113.7' }, 7)).status).toBe(429);
    expect((await guarded(request(), { remoteAddress: '203.0.113.8' }, 7)).status).toBe(200);
  });

  it('adds its headers to responses with immutable headers, too', async () => {
    const answer = await withRateLimit(() => Response.redirect('https://app.example/there', 303), {
      limit: 3,
      window: 60,
    })(request());
    expect([answer.status, answer.headers.get('location'), answer.headers.get('ratelimit')]).toEqual([
      303,
      'https://app.example/there',
      '"default";r=2;t=60',
    ]);
  });

  it('an error of the handler is thrown, and the request counts', async () => {
    const limiter = limiterOf({ limit: 2, window: 60 });
    const guarded = withRateLimit(() => {
      throw new Error('handler');
    }, limiter);
    await expect(guarded(request())).rejects.toThrow('handler');
    expect((await limiter.check(request())).remaining).toBe(0);
  });
});

describe('the default key', () => {
  it('is the address of the peer; headers are not trusted', async () => {
    const limiter = limiterOf({ limit: 1, window: 60 });
    expect(await allowed(limiter, 2, request(), { remoteAddress: '203.0.113.7' })).toEqual([true, false]);
    expect(
      (await limiter.check(request({ 'x-forwarded-for': '203.0.113.9' }), { remoteAddress: '203.0.113.7' })).allowed,
    ).toBe(false);
    expect((await limiter.check(request(), { remoteAddress: '2001:db8:1:2::1' })).allowed).toBe(true);
    expect((await limiter.check(request(), { remoteAddress: '2001:db8:1:2::2' })).allowed).toBe(false);
  });

  it('is the address that a trusted proxy names', async () => {
    const limiter = limiterOf({ limit: 1, window: 60, trustedProxies: ['10.0.0.0/8'] });
    const from = (address: string) =>
      limiter.check(request({ 'x-forwarded-for': address }), { remoteAddress: '10.0.0.1' });
    expect([
      (await from('203.0.113.7')).allowed,
      (await from('203.0.113.8')).allowed,
      (await from('203.0.113.7')).allowed,
    ]).toEqual([true, true, false]);
  });

  it('is the same for all requests whose address is unknown', async () => {
    const limiter = limiterOf({ limit: 1, window: 60 });
    expect([
      (await limiter.check(request({ 'x-forwarded-for': '1.1.1.1' }))).allowed,
      (await limiter.check(request({ 'x-forwarded-for': '2.2.2.2' }))).allowed,
    ]).toEqual([true, false]);
  });
});

describe('the window', () => {
  it('slides: each request counts for the length of the window', async () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 2, window: 10, clock });
    const at = async (ms: number): Promise<boolean> => {
      clock.advance(ms);
      return (await limiter.check(request())).allowed;
    };
    expect([await at(0), await at(4000), await at(5999), await at(1), await at(3999), await at(1)]).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
    ]);
  });
});

describe('invalid options', () => {
  it.each([
    [{ limit: 0 }, /limit must be/],
    [{ limit: 1.5 }, /limit must be/],
    [{ limit: Number.NaN }, /limit must be/],
    [{ limit: '10' }, /limit must be/],
    [{ window: 0 }, /window must be/],
    [{ window: -1 }, /window must be/],
    [{ window: Number.POSITIVE_INFINITY }, /window must be/],
    [{ keyFn: 'ip' }, /keyFn must be/],
    [{ store: 'disk' }, /store must be/],
    [{ store: 'redis' }, /redisUrl is required/],
    [{ name: 'a b' }, /name must be/],
    [{ trustedProxies: ['proxy.example'] }, /trustedProxies: proxy\.example is neither/],
  ])('%j: a TypeError names the option', (wrong, message) => {
    expect(() => createRateLimiter({ limit: 1, window: 1, ...(wrong as object) })).toThrow(TypeError);
    expect(() => createRateLimiter({ limit: 1, window: 1, ...(wrong as object) })).toThrow(message);
  });

  it('a window of one second with a limit of one is valid', async () => {
    const limiter = limiterOf({ limit: 1, window: 0.5 });
    expect(await allowed(limiter, 2, request())).toEqual(times(1, 1));
    expect((await limiter.check(request())).retryAfter).toBe(1);
  });
});
