import { randomInt } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config.ts';
import { mountRoutes } from '../../src/http/app.ts';
import { modules } from '../../src/modules.ts';
import { LIMITED_ENDPOINTS } from '../../src/platform/limited-endpoints.ts';
import type { Log } from '../../src/platform.ts';
import { redisUrl } from '../support/redis-server.ts';
import { type Wire, wireTo } from '../support/redis-wire.ts';
import { type Answered, createTestService, type TestOptions, type TestService } from '../support/service.ts';

/** The limits in specification 8.1. */
const SPECIFIED: Record<string, number> = {
  '/sign-in': 10,
  '/sign-up': 5,
  '/magic-link': 3,
  '/email-otp': 5,
  '/totp/verify': 10,
  '/token': 20,
  '/oauth/token': 20,
  '/mcp/token': 20,
};

/** An address that no other test uses, because a Redis may outlive its tests. */
const anyAddress = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;

interface From {
  readonly ip?: string;
  readonly headers?: Record<string, string>;
}

/** Sends a request whose body matches no schema. */
const knock = (t: TestService, path: string, { ip = '192.0.2.1', headers }: From = {}): Promise<Answered> =>
  t.call('POST', path, { raw: '{', headers: { 'content-type': 'application/json', ...headers }, ip });
async function knocks(t: TestService, path: string, n: number, from?: From): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let i = 0; i < n; i++) answers.push(await knock(t, path, from));
  return answers;
}
const refused = (answers: readonly Answered[]): boolean[] => answers.map((a) => a.status === 429);
const times = (n: number, m: number): boolean[] => [
  ...Array.from({ length: n }, () => false),
  ...Array.from({ length: m }, () => true),
];
const limited = (
  rateLimit: ConfigInput['rateLimit'] = {},
  o: TestOptions & { http?: ConfigInput['http'] } = {},
): Promise<TestService> => createTestService({ ...o, config: { rateLimit, ...(o.http ? { http: o.http } : {}) } });

describe('every endpoint with a limit', () => {
  let t: TestService;
  beforeAll(async () => {
    t = await createTestService({ lasting: true, config: { rateLimit: {} } });
  });
  // The base path contains the name of the service, which differs from run to run.
  const config = { http: { restPath: '/', basePath: '/{base}' } } as Parameters<typeof mountRoutes>[1];
  const at = (path: string): string => path.replace('/{base}', t.legate.platform.config.http.basePath);
  const routes = mountRoutes(modules, config).flatMap(({ route, path }) =>
    route.rateLimit && route.method === 'POST' ? [{ path, name: route.rateLimit }] : [],
  );

  it('is one of the specification, or an additional one', () => {
    expect(routes.map((r) => r.path)).toEqual(expect.arrayContaining(['/sign-in', '/sign-up', '/totp/verify']));
    expect(Object.keys(t.legate.platform.config.rateLimit.endpoints)).toEqual(
      expect.arrayContaining(['signIn', 'signUp', 'magicLink', 'emailOtp', 'totpVerify', 'token']),
    );
  });

  const exact = routes.filter((r) => LIMITED_ENDPOINTS[r.name].limit <= 64);
  it.each(exact)(
    'POST $path: $name, a minute, for a client address, counted before the body is read',
    async ({ path: declared, name }) => {
      const specified = SPECIFIED[declared.replace('/{base}', '')];
      const { limit, window } = { ...LIMITED_ENDPOINTS[name], ...(specified ? { limit: specified, window: 60 } : {}) };
      const ip = anyAddress();
      const path = at(declared);
      const answers = await knocks(t, path, limit, { ip });
      expect(refused(answers)).toEqual(times(limit, 0));
      expect(answers.map((a) => a.headers.get('ratelimit'))).toEqual(
        Array.from({ length: limit }, (_, i) => `"${name}";r=${limit - 1 - i};t=${window}`),
      );
      t.clock.advance(20_500);
      const r = await knock(t, path, { ip });
      expect(r.status).toBe(429);
      expect(r.body).toEqual({
        error: {
          code: 'RATE_LIMIT_EXCEEDED',
          message: expect.any(String),
          details: { limit, window, retryAfter: window - 20 },
        },
      });
      expect(Object.fromEntries(r.headers)).toMatchObject({
        'content-type': 'application/json',
        'retry-after': String(window - 20),
        'ratelimit-policy': `"${name}";q=${limit};w=${window}`,
        ratelimit: `"${name}";r=0;t=${window - 20}`,
        'cache-control': 'no-store',
      });
      // Another client has its own limit.
      expect(refused([await knock(t, path, { ip: anyAddress() })])).toEqual([false]);
      // The limit opens exactly when the first request is as old as the window, and not a millisecond earlier.
      t.clock.advance(window * 1000 - 20_501);
      expect(refused([await knock(t, path, { ip })])).toEqual([true]);
      t.clock.advance(1);
      expect(refused(await knocks(t, path, limit + 1, { ip }))).toEqual(times(limit, 1));
    },
  );

  const many = routes.filter((r) => !exact.includes(r));
  // The test of shared counters covers the other paths with the same counter.
  it.each(many.filter((r, i) => many.findIndex((other) => other.name === r.name) === i))(
    'POST $path: $name, with a high limit, refuses requests beyond it too',
    async ({ path, name }) => {
      const ip = anyAddress();
      const { limit, window } = LIMITED_ENDPOINTS[name];
      const answers = await knocks(t, at(path), limit + 1, { ip });
      expect(refused(answers)).toEqual(times(limit, 1));
      const { details } = answers.at(-1)?.body.error ?? {};
      expect(details).toEqual({ limit, window, retryAfter: Number(answers.at(-1)?.headers.get('retry-after')) });
      t.clock.advance(details.retryAfter * 1000);
      expect(refused([await knock(t, at(path), { ip })])).toEqual([false]);
    },
  );

  it('shares its counter with endpoints of the same name, and with no others', async () => {
    for (const name of new Set(routes.map((r) => r.name))) {
      const same = routes.filter((r) => r.name === name);
      const ip = anyAddress();
      const { limit, window } = LIMITED_ENDPOINTS[name];
      for (let i = 0; i < limit; i++)
        expect((await knock(t, at((same[i % same.length] as { path: string }).path), { ip })).status).not.toBe(429);
      for (const { path } of same) {
        const r = await knock(t, at(path), { ip });
        expect(r.status, path).toBe(429);
        const retryAfter = Number(r.headers.get('retry-after'));
        expect(r.body.error.details, path).toEqual({ limit, window, retryAfter });
      }
      const other = routes.find((r) => r.name !== name);
      if (other) expect((await knock(t, at(other.path), { ip })).status).not.toBe(429);
      // A limit above 64 counts in steps, and the last step ends later than the window.
      t.clock.advance(2 * window * 1000);
      for (const { path } of same.slice(0, limit))
        expect((await knock(t, at(path), { ip })).status, path).not.toBe(429);
    }
  });

  it('is not limited by requests with another method or path', async () => {
    const ip = anyAddress();
    for (let i = 0; i < 30; i++) expect((await t.call('GET', '/sign-in', { ip })).status).not.toBe(429);
    for (let i = 0; i < 30; i++) expect((await t.call('GET', '/health/live', { ip })).status).toBe(200);
    expect((await knock(t, '/sign-in', { ip })).headers.get('ratelimit')).toBe('"signIn";r=9;t=60');
  });

  it('counts correct and wrong passwords alike, and reports the remaining number with both', async () => {
    const ip = anyAddress();
    const password = 'correct horse battery';
    await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password } });
    const signIn = (right: boolean) =>
      t.call('POST', '/sign-in', {
        ip,
        body: { email: 'ada@example.com', password: right ? password : `${password}!` },
      });
    const answers = [await signIn(true), await signIn(false)];
    expect(answers.map((a) => [a.status, a.headers.get('ratelimit')])).toEqual([
      [200, '"signIn";r=9;t=60'],
      [401, '"signIn";r=8;t=60'],
    ]);
    await knocks(t, '/sign-in', 8, { ip });
    expect((await signIn(true)).status).toBe(429);
  });

  it('is counted for GET /metrics', async () => {
    const ip = anyAddress();
    await knocks(t, '/sign-up', 7, { ip });
    const text = (await t.call('GET', '/metrics', { as: await t.admin() })).text;
    expect(Number(/^legate_rate_limited_total\{limit="signUp"\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(2);
  });
});

describe('the address that is counted', () => {
  const spent = async (t: TestService, from: From): Promise<void> =>
    expect(refused(await knocks(t, '/sign-up', 6, from))).toEqual(times(5, 1));

  it('is the peer, whatever headers it sends', async () => {
    const t = await limited();
    await spent(t, {});
    for (const headers of [
      { 'x-forwarded-for': '203.0.113.7' },
      { forwarded: 'for=203.0.113.7' },
      { 'x-real-ip': '203.0.113.7' },
      { 'cf-connecting-ip': '203.0.113.7' },
    ])
      expect((await knock(t, '/sign-up', { headers })).status).toBe(429);
  });

  it('is named by a trusted proxy, counted from the right', async () => {
    const t = await limited({}, { http: { trustedProxies: ['10.0.0.0/8'] } });
    const by = (forwarded: string): From => ({ ip: '10.0.0.1', headers: { 'x-forwarded-for': forwarded } });
    await spent(t, by('203.0.113.7'));
    // Addresses that the client itself put at the front have no effect.
    for (const forwarded of [
      '1.2.3.4, 203.0.113.7',
      '203.0.113.7, 10.0.0.2',
      `${'9.9.9.9,'.repeat(100)}203.0.113.7`,
      '::ffff:203.0.113.7',
    ])
      expect((await knock(t, '/sign-up', by(forwarded))).status).toBe(429);
    expect((await knock(t, '/sign-up', by('203.0.113.8'))).status).toBe(400);
    // A request with an invalid header counts for the proxy.
    await spent(t, by('what is this'));
    expect((await knock(t, '/sign-up', by('something else'))).status).toBe(429);
  });

  it('is a /64 for IPv6, and the IPv4 address for IPv4-mapped IPv6', async () => {
    const t = await limited();
    await spent(t, { ip: '2001:db8:1:2::1' });
    expect((await knock(t, '/sign-up', { ip: '2001:db8:1:2:ffff:ffff:ffff:ffff' })).status).toBe(429);
    expect((await knock(t, '/sign-up', { ip: '2001:db8:1:3::1' })).status).toBe(400);
    await spent(t, { ip: '::ffff:198.51.100.1' });
    expect((await knock(t, '/sign-up', { ip: '198.51.100.1' })).status).toBe(429);
  });
});

describe('the configuration of limits', () => {
  it('sets limit and window of one endpoint; the others keep theirs', async () => {
    const t = await limited({ endpoints: { signIn: { limit: 2, window: 5 } } });
    expect(refused(await knocks(t, '/sign-in', 3))).toEqual(times(2, 1));
    expect((await knock(t, '/sign-in')).body.error.details).toEqual({ limit: 2, window: 5, retryAfter: 5 });
    t.clock.advance(5000);
    expect((await knock(t, '/sign-in')).status).toBe(400);
    expect(refused(await knocks(t, '/sign-up', 6))).toEqual(times(5, 1));
  });

  it('a limit above 64 is exact under 200 concurrent requests', async () => {
    const t = await limited({ endpoints: { signIn: { limit: 100 } } });
    expect(
      refused(await Promise.all(Array.from({ length: 200 }, () => knock(t, '/sign-in')))).filter(Boolean),
    ).toHaveLength(100);
  });

  it.each([
    [{ store: 'redis' }, /rateLimit\.redisUrl \(LEGATE_RATE_LIMIT_REDIS_URL\).*LEGATE_REDIS_URL/],
    [{ store: 'disk' }, /rateLimit\.store/],
    [{ store: 'redis', redisUrl: 'http://x' }, /rateLimit\.redisUrl.*redis:\/\//],
    [{ endpoints: { signIn: { limit: 0 } } }, /rateLimit\.endpoints\.signIn\.limit/],
    [{ endpoints: { signIn: { window: 0.5 } } }, /rateLimit\.endpoints\.signIn\.window/],
    [{ endpoints: { signin: { limit: 1 } } }, /rateLimit\.endpoints\.signin is not a known option/],
  ])('%j is an error at start that names the option', async (rateLimit, message) => {
    await expect(limited(rateLimit as never)).rejects.toThrow(message);
  });
});

const url = redisUrl();
describe.skipIf(!url)('with the counters in Redis', () => {
  const open: Wire[] = [];
  afterEach(async () => {
    for (const wire of open.splice(0)) await wire.close();
  });
  const wire = async (): Promise<Wire> => {
    const made = await wireTo(url as string);
    open.push(made);
    return made;
  };
  const inRedis = (redisUrl = url as string, o: TestOptions = {}) => limited({ store: 'redis', redisUrl }, o);

  it('body and headers are the same, and a top-level redisUrl is used too', async () => {
    const t = await createTestService({ config: { rateLimit: { store: 'redis' }, redisUrl: url } });
    const ip = anyAddress();
    const answers = await knocks(t, '/sign-up', 6, { ip });
    expect(refused(answers)).toEqual(times(5, 1));
    const last = answers.at(-1);
    const { retryAfter } = last?.body.error.details ?? {};
    expect(retryAfter).toBeGreaterThanOrEqual(40);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(last?.body).toEqual({
      error: {
        code: 'RATE_LIMIT_EXCEEDED',
        message: expect.any(String),
        details: { limit: 5, window: 60, retryAfter },
      },
    });
    expect(last?.headers.get('retry-after')).toBe(String(retryAfter));
    expect(last?.headers.get('content-type')).toBe('application/json');
    expect((await knock(t, '/sign-up', { ip: anyAddress() })).status).toBe(400);
  });

  it('of 60 concurrent requests exactly 10 pass, on two instances', async () => {
    const one = await inRedis();
    const two = await inRedis(undefined, { sameDatabaseAs: one });
    const ip = anyAddress();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => knock(i % 2 ? one : two, '/sign-in', { ip })),
    );
    expect(refused(answers).filter((r) => !r)).toHaveLength(10);
    expect(refused([await knock(one, '/sign-in', { ip }), await knock(two, '/sign-in', { ip })])).toEqual([true, true]);
  });

  it('a request to a limited endpoint sends one command; other requests send none', async () => {
    const redis = await wire();
    const t = await inRedis(redis.url);
    await knock(t, '/sign-in', { ip: anyAddress() });
    const before = redis.commands();
    await knocks(t, '/sign-in', 4, { ip: anyAddress() });
    expect(redis.commands() - before).toBe(4);
    await t.call('GET', '/health/live');
    expect(redis.commands() - before).toBe(4);
  });

  it.each(['cut', 'freeze'] as const)(
    'when Redis is lost (%s), the limit applies in this process, is reported, and causes no delay; when Redis is ' +
      'back, the limit is shared again',
    async (how) => {
      const said: string[] = [];
      const note = (_: object, message: string): void => void said.push(message);
      const log: Log = { debug: () => {}, info: note, warn: () => {}, error: note };
      const redis = await wire();
      const t = await inRedis(redis.url, { log });
      const ip = anyAddress();
      const ready = async () => (await t.call('GET', '/health/ready')).body;
      expect(await ready()).toMatchObject({ status: 'ready', checks: { redis: 'ok' } });
      // Redis counts seven requests, which this process remembers.
      expect(refused(await knocks(t, '/sign-in', 7, { ip }))).toEqual(times(7, 0));

      await redis[how]();
      const answers = await Promise.all(Array.from({ length: 50 }, () => knock(t, '/sign-in', { ip })));
      expect(refused(answers).filter((r) => !r)).toHaveLength(3);
      const started = performance.now();
      const stranger = anyAddress();
      expect(refused(await knocks(t, '/sign-in', 30, { ip: stranger }))).toEqual(times(10, 20));
      // Waiting for Redis would take 250 ms each time.
      expect((performance.now() - started) / 30).toBeLessThan(100);
      expect(said).toEqual([expect.stringContaining('counted in this process alone')]);
      const { status, body } = await t.call('GET', '/health/ready');
      expect([status, body]).toMatchObject([200, { status: 'degraded', checks: { redis: 'unreachable' } }]);
      const metrics = (await t.call('GET', '/metrics', { as: await t.admin() })).text;
      expect(metrics).toMatch(/^legate_rate_limit_redis_up 0$/m);
      expect(Number(/^legate_rate_limit_fallbacks_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(80);

      await redis.mend();
      await expect.poll(() => t.legate.platform.limits.store?.up, { timeout: 60_000 }).toBe(true);
      expect(said.at(-1)).toContain('Redis answers again');
      // Redis has counted seven requests of the first client, and none of the second. Counts of this process apply
      // until the end of their window.
      expect(refused([await knock(t, '/sign-in', { ip }), await knock(t, '/sign-in', { ip: stranger })])).toEqual([
        true,
        true,
      ]);
      expect((await ready()).status).toBe('ready');
      const other = await inRedis(undefined, { sameDatabaseAs: t });
      // On a busy machine a response of Redis may be late again, and then this process counts alone for a while.
      const together = async (): Promise<boolean[]> => {
        const fresh = anyAddress();
        await knocks(t, '/sign-in', 4, { ip: fresh });
        return refused(await knocks(other, '/sign-in', 7, { ip: fresh }));
      };
      await expect.poll(together, { timeout: 60_000 }).toEqual(times(6, 1));
    },
  );

  it('a Redis that responds but does not count is treated as lost, and is used again only when it counts', async () => {
    const redis = new Redis(url as string);
    const user = `limiter-${randomInt(1e9)}`;
    const rights = (...rules: string[]) => redis.acl('SETUSER', user, ...rules);
    await rights('on', 'nopass', '~*', '+@all');
    const said: string[] = [];
    const log: Log = {
      debug: () => {},
      info: (_, message) => void said.push(message),
      warn: () => {},
      error: (_, message) => void said.push(message),
    };
    const t = await inRedis(`redis://${user}:x@${new URL(url as string).host}`, { log });
    const ip = anyAddress();
    await knocks(t, '/sign-up', 3, { ip });
    await rights('-rpush');
    expect(refused(await knocks(t, '/sign-up', 3, { ip }))).toEqual(times(2, 1));
    // In between, the process has checked whether Redis is back, and Redis has refused.
    const refusals = async (): Promise<number> =>
      ((await redis.acl('LOG')) as unknown[][])
        .filter((entry) => entry.includes(user))
        .reduce((sum, entry) => sum + Number(entry[entry.indexOf('count') + 1]), 0);
    await expect.poll(refusals, { timeout: 60_000 }).toBeGreaterThanOrEqual(2);
    expect(said).toEqual([expect.stringContaining('counted in this process alone')]);
    await rights('+rpush');
    await expect.poll(() => t.legate.platform.limits.store?.up, { timeout: 60_000 }).toBe(true);
    await redis.acl('DELUSER', user);
    redis.disconnect();
  });

  it('a service starts without Redis, and counts by itself', async () => {
    const redis = await wire();
    await redis.cut();
    const t = await inRedis(redis.url);
    expect(refused(await knocks(t, '/sign-up', 6))).toEqual(times(5, 1));
    expect((await t.call('GET', '/health/ready')).status).toBe(200);
  });
});
