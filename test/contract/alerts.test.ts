import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { sealer } from '../../src/activity/seal/sealer.ts';
import { newDelivery } from '../../src/activity/webhooks/dispatcher.ts';
import { chunk } from '../../src/kernel/chunk.ts';
import { newId } from '../../src/kernel/ids.ts';
import { renewInstance } from '../../src/operations/instances.ts';
import { freePort } from '../support/process.ts';
import { evaluate, readMetrics } from '../support/promql.ts';
import { createTestService, FakeClock, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

const deploy = (path: string): string => readFileSync(join(import.meta.dirname, '../../deploy', path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}

const rules: readonly Rule[] = parse(deploy('prometheus/alerts.yaml')).groups[0].rules;
const TOKEN = 'a metrics token of some length';
const metrics = { token: TOKEN };
/** The metric that Prometheus adds to each scrape. */
const UP = '# TYPE up gauge\nup{job="legate"} 1\n';

type Metrics = ReturnType<typeof readMetrics>;
const scrape = async (t: TestService, up = UP): Promise<Metrics> => {
  const r = await t.call('GET', '/metrics', { as: TOKEN });
  expect(r.status).toBe(200);
  return readMetrics(r.text + up);
};
const firing = (before: Metrics, after: Metrics): string[] =>
  rules.filter(({ expr }) => evaluate(expr, before, after).length > 0).map(({ alert }) => alert);

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
const DATA_SOURCE = '${datasource}';

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
let databaseClock: FakeClock;
let sound: Metrics;

const decide = async (status = 200): Promise<void> =>
  expect((await t.authorize(agent, { action: 'read', resource: 'x' })).status).toBe(status);
const advance = (ms: number): void => {
  t.clock.advance(ms);
  databaseClock.advance(ms);
};
/** Rules about rates cannot fire here, because both scrapes are the same. */
const firingNow = async (): Promise<string[]> => {
  const now = await scrape(t);
  return firing(now, now);
};
/** The Redis of this test never responds. */
const ALWAYS = 'LegateRedisLost';

beforeAll(async () => {
  databaseClock = new FakeClock();
  const redisUrl = `redis://127.0.0.1:${await freePort()}`;
  t = await createTestService({
    lasting: true,
    withoutIntervals: true,
    databaseClock,
    config: { metrics, ledger: { seal: 'on' }, rateLimit: { store: 'redis', redisUrl } },
  });
  owner = await t.user();
  agent = await t.agent(owner, { permissions: [{ resource: 'x', actions: ['read'] }] });
  await decide();
  await t.authorize(agent, { action: 'read', resource: 'no' });
  sound = await scrape(t);
});

describe('deploy/prometheus/alerts.yaml', () => {
  it('each rule has a duration, a severity, and an instruction', () => {
    expect(rules.length).toBeGreaterThan(5);
    for (const rule of rules)
      expect(rule).toMatchObject({
        alert: expect.stringMatching(/^Legate[A-Z]/),
        for: expect.stringMatching(/^\d+m$/),
        labels: { severity: expect.stringMatching(/^(page|ticket)$/) },
        annotations: { summary: expect.stringMatching(/\.$/), action: expect.stringMatching(/\.$/) },
      });
  });

  it('nothing fires while the service is healthy', () => {
    const withRedis = new Map(sound).set('legate_rate_limit_redis_up', [{ labels: {}, value: 1 }]);
    expect(firing(withRedis, withRedis)).toEqual([]);
  });

  it('a rule fires when Redis does not respond', async () => {
    expect(await firingNow()).toEqual([ALWAYS]);
  });

  it('a rule fires when an instance does not respond', async () => {
    const now = await scrape(t, UP.replace(' 1', ' 0'));
    expect(firing(now, now)).toEqual(['LegateDown', ALWAYS]);
  });

  it('a rule fires when instances have different addresses', async () => {
    // Both instances share a thread, and on SQLite each would block the other, so neither may have work in the
    // background.
    const config = { baseUrl: 'https://other.example.com' };
    const other = await createTestService({ sameDatabaseAs: t, config, withoutIntervals: true });
    await other.legate.platform.background.idle();
    await t.legate.platform.stateOf(sealer).signNow();
    await renewInstance(other.legate.platform);
    expect(await firingNow()).toEqual(['LegateBaseUrlsDiffer', ALWAYS]);
    await other.legate.close();
    expect(await firingNow()).toEqual([ALWAYS]);
  });

  it('a rule fires when the clock of the instance is wrong, or the clock of the database was ahead', async () => {
    t.clock.advance(5000);
    await decide();
    expect(await firingNow()).toEqual(['LegateClockOff', ALWAYS]);
    databaseClock.advance(5000);
    await decide();
    expect(await firingNow()).toEqual([ALWAYS]);

    advance(10_000);
    await decide();
    advance(-10_000);
    await decide();
    expect(await firingNow()).toEqual(['LegateLedgerAhead', ALWAYS]);
    advance(10_000);
    await decide();
    expect(await firingNow()).toEqual([ALWAYS]);
  });

  it('a rule fires when decisions are slow', async () => {
    const before = await scrape(t);
    const { seconds } = t.legate.platform.counts.requests.of('POST', '/authorize');
    for (let i = 0; i < 10; i++) seconds.observe(0.3);
    expect(firing(before, await scrape(t))).toEqual(['LegateSlow', ALWAYS]);
  });

  it('a rule fires when webhook deliveries wait', async () => {
    const body = { url: 'https://app.example.com/in', types: ['agent.created'] };
    const { id } = (await t.call('POST', '/webhooks', { as: owner, body })).body;
    const now = t.clock.now();
    const rows = Array.from({ length: 501 }, () => ({
      ...newDelivery(now, id, newId('event', now), 'agent.created', '{}'),
      next_at: now + 86_400_000,
    }));
    await t.legate.platform.ledger.maintain(async (db) => {
      for (const some of chunk(rows, 50)) await db.insertInto('webhook_deliveries').values(some).execute();
    });
    expect(await firingNow()).toEqual(['LegateWebhooksWait', ALWAYS]);
    await t.call('DELETE', `/webhooks/${id}`, { as: owner });
    expect(await firingNow()).toEqual([ALWAYS]);
  });

  it('a rule fires when the sealer has stopped', async () => {
    await t.legate.platform.stateOf(sealer).stop();
    await decide();
    advance(301_000);
    expect(await firingNow()).toEqual(['LegateLedgerUnsealed', ALWAYS]);
  });
});

describe('deploy/grafana/legate.json', () => {
  it('each panel queries metrics and labels that exist', () => {
    const { panels } = JSON.parse(deploy('grafana/legate.json'));
    expect(panels.length).toBeGreaterThan(10);
    for (const { title, targets, datasource } of panels) {
      expect(datasource, title).toEqual({ type: 'prometheus', uid: DATA_SOURCE });
      for (const { expr } of targets) expect(() => evaluate(expr, sound, sound), title).not.toThrow();
    }
  });

  it('an expression with an unknown metric or label is detected', () => {
    expect(() => evaluate('legate_none > 1', sound, sound)).toThrow('/metrics has no legate_none');
    expect(() => evaluate('sum by (path) (rate(legate_http_requests_total[5m]))', sound, sound)).toThrow(
      'no label path',
    );
    expect(() => evaluate('rate(legate_http_requests_total{path="/"}[5m])', sound, sound)).toThrow('no label path');
  });
});

describe('a service that has lost its database', () => {
  it('is not ready, and its failing decisions make rules fire', async () => {
    const before = await scrape(t);
    await t.legate.platform.database.close();
    await decide(503);
    const fired = firing(before, await scrape(t)).filter((alert) => alert !== 'LegateSlow');
    expect(fired).toEqual(['LegateNotReady', 'LegateDecisionsFail', ALWAYS]);
  });
});
