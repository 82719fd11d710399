import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LedgerFollower } from '../../src/ledger/index.ts';
import { openSqlite } from '../../src/storage/sqlite-handle.ts';
import { startPostgres, type TestPostgres } from '../support/postgres-server.ts';
import { createTestService, dialect } from '../support/service.ts';
import { newWorld, type World } from '../support/world.ts';

const world = (databaseUrl?: string): Promise<World> =>
  newWorld(
    { permissions: [{ resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 1000 } }] },
    databaseUrl ? { databaseUrl } : {},
  );
const ask = ({ t, agent }: World) => t.authorize(agent, { action: 'read', resource: 'db:x' });

/** The only acceptable responses while nothing can be recorded. */
async function refusesEverything(w: World): Promise<void> {
  const r = await ask(w);
  expect([r.status, r.body.allowed]).toEqual([503, undefined]);
  expect(['AUDIT_UNAVAILABLE', 'STORAGE_UNAVAILABLE']).toContain(r.body.error.code);
  const created = await w.t.call('POST', '/agents', {
    as: w.owner,
    body: { ownerId: w.owner.id, name: 'n', type: 'service' },
  });
  expect([created.status, created.body.error]).toEqual([
    503,
    { code: 'STORAGE_UNAVAILABLE', message: 'The service cannot read or write its data at the moment. Try again.' },
  ]);
}

async function recovers(w: World, allowedBefore: number): Promise<void> {
  await expect.poll(async () => (await ask(w)).status, { timeout: 60_000, interval: 50 }).toBe(200);
  const { body } = await ask(w);
  expect(body.allowed).toBe(true);
  const rows = await w.t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['seq', 'result'])
    .orderBy('seq')
    .execute();
  expect(rows.map((r) => r.seq)).toEqual(rows.map((_, i) => i + 1));
  const allowed = rows.filter((r) => r.result === 'allowed').length;
  expect(allowed).toBe(allowedBefore + 2);
  const counter = await w.t.legate.platform.database.read.selectFrom('counters').selectAll().executeTakeFirstOrThrow();
  expect(counter.used).toBe(allowed);
}

type Sync = (file: number, done: (error: Error | null) => void) => unknown;

/** Replaces the functions that sync to disk, until the test ends. */
function syncWith(sync: Sync, syncNow: () => void): void {
  const { fdatasync, fdatasyncSync } = fs;
  const use = (one: unknown, now: unknown): void => {
    Object.assign(fs, { fdatasync: one, fdatasyncSync: now });
    syncBuiltinESMExports();
  };
  use(sync, syncNow);
  onTestFinished(() => use(fdatasync, fdatasyncSync));
}

/** Makes every sync to disk fail until `repair` is called. */
function failingDisk(): { repair(): void } {
  let fails = true;
  const error = new Error('EIO: i/o error, fdatasync');
  syncWith(
    (_, done) => setImmediate(done, fails ? error : null),
    () => {
      if (fails) throw error;
    },
  );
  return {
    repair: () => {
      fails = false;
    },
  };
}

const onSqlite = (): void => {
  it('responds only after the disk has written, and serves other requests in between', async () => {
    const w = await world();
    const waiting: (() => void)[] = [];
    let isHeld = false;
    // The disk is slow. Once a commit has shown this, the main thread no longer waits for it.
    syncWith(
      (_, done) => (isHeld ? waiting.push(() => done(null)) : setTimeout(done, 2, null)),
      () => {
        for (const until = performance.now() + 2; performance.now() < until; );
      },
    );
    for (let i = 0; i < 3; i++) expect((await ask(w)).body.allowed).toBe(true);
    // The first requests of a kind take longest, and held decisions wait for a limited time.
    for (const path of ['/agents', '/audit']) expect((await w.t.call('GET', path, { as: w.owner })).status).toBe(200);
    isHeld = true;
    let answers = 0;
    const asked = [ask(w), ask(w)].map(async (answer) => {
      expect((await answer).body.allowed).toBe(true);
      answers++;
    });
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    const { database } = w.t.legate.platform;
    let followed = 0;
    const onSlice = async (_: number, upto: number): Promise<number> => (followed = upto);
    const follower = new LedgerFollower({ database, sliceSize: 500, readStart: async () => 0, onSlice });
    const following = follower.catchUp();
    expect((await w.t.call('GET', '/agents', { as: w.owner })).status).toBe(200);
    // Decisions and changes are serialised, so both calls wait too.
    const later = [ask(w), w.t.call('POST', `/agents/${w.agent.id}/rotate`, { as: w.owner })];
    // The audit log shows only rows that are durable, so this call waits as well.
    const page = w.t.call('GET', '/audit', { as: w.owner });
    expect((await w.t.call('GET', '/agents', { as: w.owner })).status).toBe(200);
    expect([answers, followed]).toEqual([0, 0]);
    isHeld = false;
    for (const write of waiting) write();
    await Promise.all([...asked, ...later, following]);
    expect((await page).body.length).toBeGreaterThanOrEqual(3);
    expect(answers).toBe(2);
    expect(followed).toBeGreaterThan(0);
  });

  it('503 for a change that the disk fails to write, and for everything after it', async () => {
    const w = await world();
    const disk = failingDisk();
    const body = { ownerId: w.owner.id, name: 'n', type: 'service' };
    const r = await w.t.call('POST', '/agents', { as: w.owner, body });
    expect([r.status, r.body.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    disk.repair();
    await refusesEverything(w);
  });

  it('503 permanently after a failed write to disk, because its content is unknown', async () => {
    const w = await world();
    const disk = failingDisk();
    for (const r of await Promise.all([ask(w), ask(w)]))
      expect([r.status, r.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    disk.repair();
    await refusesEverything(w);
    const ready = await w.t.call('GET', '/health/ready');
    expect(ready.status, ready.text).toBe(503);
  });

  it('503 while the disk is full; allows nothing; recovers by itself', async () => {
    const w = await world();
    for (let i = 0; i < 3; i++) expect((await ask(w)).body.allowed).toBe(true);
    const { database } = w.t.legate.platform;
    if (database.dialect !== 'sqlite') throw new Error('this is a test for SQLite');
    const pages = database.writer.prepare('pragma page_count').all([])[0]?.['page_count'] as number;
    database.writer.exec(`pragma max_page_count = ${pages}`);
    let full = 0;
    for (let i = 0; i < 500 && full === 0; i++) {
      const r = await w.t.authorize(w.agent, { action: 'no', resource: 'x'.repeat(500) });
      if (r.status === 503) full++;
      else expect(r.body.allowed).toBe(false);
    }
    expect(full).toBe(1);
    const large = await w.t.authorize(w.agent, {
      action: 'read',
      resource: 'db:x',
      arguments: { text: 'y'.repeat(60_000) },
    });
    expect([large.status, large.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    const name = 'n'.repeat(100);
    const body = { ownerId: w.owner.id, name, type: 'service', metadata: { text: 'y'.repeat(9000) } };
    const created = await w.t.call('POST', '/agents', { as: w.owner, body });
    expect([created.status, created.body.error?.message]).toEqual([503, expect.not.stringContaining('reached')]);
    database.writer.exec('pragma max_page_count = 1073741823');
    await recovers(w, 3);
  });

  it('503 while the file is read-only; recovers by itself', async () => {
    const w = await world();
    expect((await ask(w)).body.allowed).toBe(true);
    const { database } = w.t.legate.platform;
    if (database.dialect !== 'sqlite') throw new Error('this is a test for SQLite');
    database.writer.exec('pragma query_only = on');
    await refusesEverything(w);
    // Reads still work.
    for (const path of ['/audit', '/anomalies', '/costs/summary', '/budgets', '/webhooks', '/events'])
      expect([path, (await w.t.call('GET', path, { as: w.owner })).status]).toEqual([path, 200]);
    database.writer.exec('pragma query_only = off');
    await recovers(w, 1);
  });

  it('503 within limited time while another process holds the write lock; recovers by itself', async () => {
    const w = await world();
    expect((await ask(w)).body.allowed).toBe(true);
    const other = openSqlite(w.t.database.url.slice('sqlite:'.length));
    other.exec('begin immediate');
    const startedAt = performance.now();
    const r = await ask(w);
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect([r.status, r.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    other.exec('rollback');
    other.close();
    await recovers(w, 1);
  });
};

const onPostgres = (): void => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  it('503 under load while the server is stopped; allows nothing; recovers by itself', async () => {
    const w = await world(server.url);
    const answers: { status: number; allowed: unknown; id: unknown }[] = [];
    let stop = false;
    const load = Array.from({ length: 8 }, async () => {
      while (!stop) {
        const r = await ask(w);
        answers.push({ status: r.status, allowed: r.body.allowed, id: r.body.auditId });
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await expect.poll(() => answers.length, { timeout: 60_000 }).toBeGreaterThan(50);
    await server.stop();
    await refusesEverything(w);
    expect((await w.t.call('GET', '/health/ready')).status).toBe(503);
    expect((await w.t.call('GET', '/health/live')).status).toBe(200);
    await server.start();
    await expect.poll(async () => (await ask(w)).status, { timeout: 60_000, interval: 50 }).toBe(200);
    stop = true;
    await Promise.all(load);
    expect((await w.t.call('GET', '/health/ready')).status).toBe(200);
    for (const a of answers) expect([200, 503]).toContain(a.status);
    for (const a of answers) if (a.status === 503) expect(a.allowed).toBeUndefined();
    const rows = await w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['seq', 'id', 'result'])
      .orderBy('seq')
      .execute();
    expect(rows.map((r) => r.seq)).toEqual(rows.map((_, i) => i + 1));
    const ids = new Set(rows.map((r) => r.id));
    for (const a of answers) if (a.status === 200) expect(ids.has(a.id as string)).toBe(true);
  });

  it('503 AUDIT_UNAVAILABLE while the server is stopped, even if the credential cannot be read', async () => {
    const w = await world(server.url);
    const unread = await w.t.agent(w.owner);
    await ask(w);
    await server.stop();
    const body = { action: 'read', resource: 'db:x' };
    const evaluation = {
      subject: { type: 'agent', id: unread.id },
      action: { name: 'read' },
      resource: { type: 'db', id: 'x' },
    };
    const asked = [
      await ask(w),
      await w.t.authorize(unread, body),
      await w.t.call('POST', '/authorize/batch', { as: unread, body: { requests: [body] } }),
      await w.t.call('POST', '/access/v1/evaluation', { as: unread, body: evaluation }),
    ];
    const read = await w.t.call('GET', '/agents', { as: unread });
    await server.start();
    for (const r of asked) expect([r.status, r.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    expect([read.status, read.body.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
  });

  it('loses nothing while connections are cut repeatedly', async () => {
    const w = await world(server.url);
    const killer = new pg.Client(server.url);
    await killer.connect();
    const answered: string[] = [];
    let stop = false;
    const load = Array.from({ length: 8 }, async () => {
      while (!stop) {
        const r = await ask(w);
        if (r.status === 200 && r.body.allowed) answered.push(r.body.auditId);
        else if (r.status === 200) expect(r.body.reason).toBe('RATE_LIMITED');
        else expect(r.status).toBe(503);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    for (let i = 0; i < 20; i++) {
      await killer.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ' +
          "application_name = 'legate' and pid <> pg_backend_pid()",
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    stop = true;
    await Promise.all(load);
    await killer.end();
    const rows = await w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['seq', 'id', 'result'])
      .orderBy('seq')
      .execute();
    expect(rows.map((r) => r.seq)).toEqual(rows.map((_, i) => i + 1));
    const ids = new Set(rows.map((r) => r.id));
    for (const id of answered) expect(ids.has(id)).toBe(true);
    const counter = await w.t.legate.platform.database.read
      .selectFrom('counters')
      .selectAll()
      .executeTakeFirstOrThrow();
    expect(counter.used).toBe(rows.filter((r) => r.result === 'allowed').length);
    expect(counter.used).toBeLessThanOrEqual(1000);
  });

  it('503 within bounded time while another session locks the head row; recovers by itself', async () => {
    const w = await world(server.url);
    expect((await ask(w)).body.allowed).toBe(true);
    const holder = new pg.Client(server.url);
    await holder.connect();
    await holder.query(`begin; select * from ${w.t.legate.platform.database.prefix}head for update`);
    const startedAt = performance.now();
    const r = await ask(w);
    expect(performance.now() - startedAt).toBeLessThan(8000);
    expect([r.status, r.body.error.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
    const created = await w.t.call('POST', '/agents', {
      as: w.owner,
      body: { ownerId: w.owner.id, name: 'n', type: 'service' },
    });
    expect([created.status, created.body.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    await holder.query('rollback');
    await holder.end();
    await recovers(w, 1);
  });

  it("a starting instance waits for another instance's migration, longer than a decision would wait", async () => {
    const w = await world(server.url);
    const holder = new pg.Client(server.url);
    await holder.connect();
    await holder.query(`begin; lock table ${w.t.legate.platform.database.prefix}migrations in access exclusive mode`);
    const starting = createTestService({ sameDatabaseAs: w.t });
    await new Promise((resolve) => setTimeout(resolve, 3500));
    await holder.query('rollback');
    await holder.end();
    expect((await (await starting).call('GET', '/health/ready')).status).toBe(200);
  });

  it('503 within bounded time while server sessions are frozen, in a decision or a change; recovers by itself', {
    timeout: 300_000,
  }, async () => {
    const w = await world(server.url);
    expect((await ask(w)).body.allowed).toBe(true);
    const create = () =>
      w.t.call('POST', '/agents', { as: w.owner, body: { ownerId: w.owner.id, name: 'n', type: 'service' } });
    const holder = new pg.Client(server.url);
    await holder.connect();
    let allowed = 1;
    for (const call of [() => ask(w), create]) {
      // The head row is locked, so the session of the call is inside its transaction when it is frozen.
      await holder.query(`begin; select * from ${w.t.legate.platform.database.prefix}head for update`);
      const answer = call();
      let frozen: number[] = [];
      await expect
        .poll(async () => {
          const { rows } = await holder.query<{ pid: number }>(
            "select pid from pg_stat_activity where datname = current_database() and application_name = 'legate' and " +
              "wait_event_type = 'Lock'",
          );
          frozen = rows.map((r) => r.pid);
          return frozen.length;
        })
        .toBe(1);
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
      try {
        const startedAt = performance.now();
        expect((await answer).status).toBe(503);
        expect(performance.now() - startedAt).toBeLessThan(12_000);
        expect(performance.now() - startedAt).toBeGreaterThan(4000);
        await holder.query('rollback');
      } finally {
        for (const pid of frozen) process.kill(pid, 'SIGCONT');
      }
      await expect.poll(async () => (await ask(w)).status, { timeout: 60_000, interval: 50 }).toBe(200);
      allowed++;
    }
    await holder.end();
    await recovers(w, allowed);
  });
};

if (dialect === 'sqlite') describe('SQLite without write access', onSqlite);
else describe('PostgreSQL that is unavailable', onPostgres);
