import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createTestService, FakeClock } from '../../test/support/service.ts';
import { untilPasses } from '../../test/support/until.ts';
import { SYSTEM } from '../access/actor.ts';

const metric = (text: string, line: string): number =>
  Number(
    text
      .split('\n')
      .find((l) => l.startsWith(`${line} `))
      ?.slice(line.length + 1),
  );

const OK = { instance: 'ok', database: 'ok', schema: 'ok', ledger: 'ok', clock: 'ok' };

describe('GET /health/live', () => {
  it('200 for anyone', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/health/live');
    expect([r.status, r.body]).toEqual([200, { status: 'ok' }]);
    expect(r.headers.get('cache-control')).toBe('no-store');
  });

  it('200 while the database is unreachable', async () => {
    const t = await createTestService();
    await t.legate.platform.database.close();
    expect((await t.call('GET', '/health/live')).status).toBe(200);
  });

  it('405 with Allow', async () => {
    const t = await createTestService();
    const r = await t.call('POST', '/health/live', { body: {} });
    expect([r.status, r.body.error.code, r.headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'GET, HEAD']);
  });
});

describe('GET /health/ready', () => {
  it('200 for anyone', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/health/ready');
    expect([r.status, r.body]).toEqual([200, { status: 'ready', checks: OK }]);
  });

  it('HEAD answers without a body', async () => {
    const t = await createTestService();
    const r = await t.call('HEAD', '/health/ready');
    expect([r.status, r.text]).toEqual([200, '']);
  });

  it('503 while the database cannot be reached', async () => {
    const t = await createTestService();
    expect((await t.call('GET', '/health/ready')).status).toBe(200);
    await t.legate.platform.database.close();
    const r = await t.call('GET', '/health/ready');
    const unknown = { schema: 'unknown', ledger: 'unknown', clock: 'unknown' };
    expect([r.status, r.body]).toEqual([
      503,
      { status: 'unavailable', checks: { instance: 'ok', database: 'unreachable', ...unknown } },
    ]);
    expect(r.headers.get('retry-after')).toBe('1');
  });

  it('503 while the schema is outdated', async () => {
    const t = await createTestService();
    const { database } = t.legate.platform;
    const behind = [503, { status: 'unavailable', checks: { ...OK, schema: 'behind' } }];
    await database.write.deleteFrom(`${database.prefix}migrations` as never).execute();
    const empty = await t.call('GET', '/health/ready');
    expect([empty.status, empty.body]).toEqual(behind);
    await database.write.schema.dropTable(`${database.prefix}migrations`).execute();
    const missing = await t.call('GET', '/health/ready');
    expect([missing.status, missing.body]).toEqual(behind);
  });
});

describe('GET /health/ready, while nothing can be recorded', () => {
  it.each(['the same', 'another'])('503 while %s instance holds the head row, and 200 after it', async (which) => {
    const t = await createTestService();
    const holder = which === 'another' ? await createTestService({ sameDatabaseAs: t }) : t;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let locked = (): void => {};
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    const change = holder.legate.platform.ledger.change(SYSTEM, async () => {
      locked();
      await held;
    });
    await isLocked;
    const r = await t.call('GET', '/health/ready');
    release();
    await change;
    expect([r.status, r.body]).toEqual([503, { status: 'unavailable', checks: { ...OK, ledger: 'blocked' } }]);
    await untilPasses(async () => expect((await t.call('GET', '/health/ready')).status).toBe(200));
  });

  it('503 while rows cannot be inserted, as on a full disk, and 200 after it', async () => {
    const t = await createTestService();
    const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const { database } = t.legate.platform;
    const rows = sql.table('stream_events');
    const onPostgres = database.dialect === 'postgres';
    const ready = async () => {
      const { status, body } = await t.call('GET', '/health/ready');
      return [status, body.checks.ledger];
    };
    const decide = async () => (await t.authorize(agent, { action: 'read', resource: 'db:x' })).status;
    expect([await decide(), await ready()]).toEqual([200, [200, 'ok']]);
    if (onPostgres)
      await sql`create function no_space() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`.execute(database.write);
    const body = onPostgres
      ? sql`for each row execute function no_space()`
      : sql`begin select raise(abort, 'database or disk is full'); end`;
    await sql`create trigger full_disk before insert on ${rows} ${body}`.execute(database.write);
    expect([await decide(), await ready()]).toEqual([503, [503, 'blocked']]);
    await sql`drop trigger full_disk ${onPostgres ? sql`on ${rows}` : sql``}`.execute(database.write);
    expect([await ready(), await decide(), await ready()]).toEqual([[200, 'ok'], 200, [200, 'ok']]);
    const left = await database.read.selectFrom('stream_events').select('seq').where('seq', '<', 1).execute();
    expect(left).toEqual([]);
  });

  it('503 while the clock is more than 30 s off that of the database', async () => {
    const database = new FakeClock();
    const t = await createTestService({ databaseClock: database });
    const admin = await t.admin();
    database.advance(60_000);
    const r = await t.call('GET', '/health/ready');
    expect([r.status, r.body.checks]).toEqual([503, { ...OK, ledger: 'blocked', clock: 'off' }]);
    const { text } = await t.call('GET', '/metrics', { as: admin });
    expect(metric(text, 'legate_clock_offset_seconds')).toBe(-60);
  });
});

describe('GET /metrics', () => {
  const TOKEN = 'a metrics token of some length';

  it('200 in the text format for an admin, with all metrics', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'mcp:a:*', actions: ['read'] }] });
    await t.authorize(agent, { action: 'read', resource: 'mcp:a:x' });
    await t.authorize(agent, { action: 'read', resource: 'mcp:a:y' });
    await t.authorize(agent, { action: 'write', resource: 'mcp:a:x' });
    await t.call('GET', '/agents/agt_unknown', { as: alice });
    await t.call('GET', '/nowhere');

    const r = await t.call('GET', '/metrics', { as: admin });
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(metric(r.text, 'legate_http_requests_total{method="POST",route="/authorize",status="200"}')).toBe(3);
    expect(metric(r.text, 'legate_http_requests_total{method="GET",route="/agents/:id",status="404"}')).toBe(1);
    expect(metric(r.text, 'legate_http_requests_total{method="",route="unknown",status="404"}')).toBe(1);
    expect(metric(r.text, 'legate_decisions_total{result="allowed",reason=""}')).toBe(2);
    expect(metric(r.text, 'legate_decisions_total{result="denied",reason="NO_PERMISSION"}')).toBe(1);
    expect(metric(r.text, 'legate_ledger_records_total')).toBe(3);
    expect(metric(r.text, 'legate_ledger_batches_total')).toBe(3);
    expect(metric(r.text, 'legate_ledger_failures_total')).toBe(0);
    expect(metric(r.text, 'legate_ledger_queue')).toBe(0);
    expect(r.text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(r.text).toMatch(/^legate_info\{version="[^"]+",database="(sqlite|postgres)"\} 1$/m);
    for (const secret of [agent.token, alice.token, agent.id]) expect(r.text).not.toContain(secret);
  });

  it('counts decisions, not the steps of their approvals', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const constraints = { requireApproval: true };
    const agent = await t.agent(alice, { permissions: [{ resource: 'x', actions: ['read'], constraints }] });
    const ask = async () => (await t.authorize(agent, { action: 'read', resource: 'x' })).body.approvalId;
    await t.call('POST', `/approvals/${await ask()}/deny`, { as: alice, body: {} });
    await t.call('POST', `/approvals/${await ask()}/approve`, { as: alice, body: {} });
    await ask();
    const { text } = await t.call('GET', '/metrics', { as: await t.admin() });
    expect(text.match(/^legate_decisions_total.*$/gm)?.sort()).toEqual([
      'legate_decisions_total{result="allowed",reason=""} 1',
      'legate_decisions_total{result="denied",reason="APPROVAL_REQUIRED"} 2',
    ]);
  });

  it('has latency by route, sizes of batches, open streams and the webhook queue', async () => {
    // No server listens on port 9, so the delivery waits for its next attempt.
    const t = await createTestService({ config: { webhooks: { allowPrivateNetworks: true } } });
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'x', actions: ['read'] }] });
    for (let i = 0; i < 3; i++) await t.authorize(agent, { action: 'read', resource: 'x' });
    const hook = { url: 'http://127.0.0.1:9/hook', types: ['agent.created'] };
    expect((await t.call('POST', '/webhooks', { as: alice, body: hook })).status).toBe(201);
    await t.agent(alice);
    const stream = await t.legate.fetch(
      new Request('http://localhost:3000/api/legate/events/stream', {
        headers: { authorization: `Bearer ${alice.token}`, accept: 'text/event-stream' },
      }),
    );
    const admin = await t.admin();
    const scrape = async () => (await t.call('GET', '/metrics', { as: admin })).text;
    // The delivery is queued after the response.
    await untilPasses(async () => expect(metric(await scrape(), 'legate_webhook_queue')).toBe(1));
    const text = await scrape();
    await stream.body?.cancel();
    const labels = 'method="POST",route="/authorize"';
    expect(metric(text, `legate_http_request_duration_seconds_bucket{${labels},le="+Inf"}`)).toBe(3);
    expect(metric(text, `legate_http_request_duration_seconds_count{${labels}}`)).toBe(3);
    expect(metric(text, `legate_http_request_duration_seconds_sum{${labels}}`)).toBeGreaterThan(0);
    const buckets = [
      ...text.matchAll(/^legate_http_request_duration_seconds_bucket\{method="POST",route="\/authorize",.* (\d+)$/gm),
    ];
    expect(buckets.map((b) => Number(b[1]))).toEqual(buckets.map((b) => Number(b[1])).sort((a, b) => a - b));
    expect(metric(text, 'legate_ledger_batch_size_count')).toBe(3);
    expect(metric(text, 'legate_ledger_batch_size_bucket{le="1"}')).toBe(3);
    expect(metric(text, 'legate_event_streams')).toBe(1);
  });

  it('has names that promtool check metrics accepts', async () => {
    const t = await createTestService();
    const { text } = await t.call('GET', '/metrics', { as: await t.admin() });
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((m) => [m[1] as string, m[2] as string]));
    expect(types.size).toBeGreaterThan(20);
    for (const [name, type] of types) {
      expect(text, name).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
      // The rules are those of prometheus/util/promlint.
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name, name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(name, name).not.toMatch(/_(count|sum|bucket)$/);
      expect(name, name).not.toMatch(/(^|_)(gauge|counter|histogram|summary)(_|$)/);
      expect(name, name).not.toMatch(/(milliseconds|_ms|_minutes|_hours|_kilobytes|_megabytes|_percent)(_|$)/);
    }
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of lines) expect(line).toMatch(/^[a-z_0-9]+(\{([a-z_]+="[^"]*",?)+\})? (-?[0-9.e+-]+|Nan)$/);
  });

  it('200 for the metrics token', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    expect((await t.call('GET', '/metrics', { as: TOKEN })).status).toBe(200);
    expect((await t.call('GET', '/metrics', { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
  });

  it('401 without a credential, with a wrong one, and with a metrics token if none is configured', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    const bare = await createTestService();
    for (const r of [
      await t.call('GET', '/metrics'),
      await t.call('GET', '/metrics', { as: `${TOKEN}x` }),
      await t.call('GET', '/metrics', { as: TOKEN.slice(1) }),
      await t.call('GET', '/metrics', { as: '' }),
      await bare.call('GET', '/metrics', { as: TOKEN }),
      await bare.call('GET', '/metrics', { as: 'undefined' }),
    ]) {
      expect([r.status, r.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
      expect(r.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  it('403 for a user, for an agent, and for a narrowed token of an admin', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    const narrowed = await t.user({ role: 'admin', scopes: ['audit:read'] });
    for (const as of [alice, agent, narrowed]) expect((await t.call('GET', '/metrics', { as })).status).toBe(403);
  });

  it('the metrics token gives no other access', async () => {
    const t = await createTestService({ config: { metrics: { token: TOKEN } } });
    for (const path of ['/agents', '/users', '/auth/session'])
      expect((await t.call('GET', path, { as: TOKEN })).status).toBe(401);
  });
});
