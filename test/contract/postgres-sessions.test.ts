import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lease, openDatabase, type PostgresDatabase } from '../../src/storage/index.ts';
import { proxyTo } from '../faults/proxy.ts';
import { createTestService, newTestDatabase, type TestAgent, type TestService } from '../support/service.ts';
import { startTransactionPooler } from '../support/transaction-pooler.ts';

const ask = (t: TestService, agent: TestAgent) => t.authorize(agent, { action: 'read', resource: 'db:x' });

const capped = async (t: TestService): Promise<TestAgent> =>
  t.agent(await t.user(), {
    permissions: [{ resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 20 } }],
  });

const postgresOf = (t: TestService): PostgresDatabase => {
  const { database } = t.legate.platform;
  if (database.dialect !== 'postgres') throw new Error('this is a test for PostgreSQL');
  return database;
};

/** The settings in effect in a transaction of decisions and changes. */
async function effective(database: PostgresDatabase): Promise<Record<string, string>> {
  const client = await lease(database.writePool, database.session);
  try {
    await client.query('begin');
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, current_setting(name) as setting from unnest(array['synchronous_commit', 'lock_timeout',
        'idle_in_transaction_session_timeout', 'transaction_isolation', 'search_path']) as name`,
    );
    await client.query('rollback');
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  } finally {
    client.release();
  }
}

const SAFE = {
  synchronous_commit: 'on',
  lock_timeout: '3s',
  idle_in_transaction_session_timeout: '5s',
  transaction_isolation: 'read committed',
};

describe('sessions of PostgreSQL', () => {
  it('options in the URL take effect but do not weaken durability, time limits or isolation', async () => {
    const { url, name } = await newTestDatabase();
    const unsafe = new URL(url);
    unsafe.searchParams.set(
      'options',
      '-c search_path=legate -c synchronous_commit=off -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 ' +
        '-c default_transaction_isolation=serializable',
    );
    const database = (await openDatabase(unsafe.href, { serviceName: name })) as PostgresDatabase;
    try {
      expect(database.session.direct).toBe(true);
      expect(await effective(database)).toEqual({ ...SAFE, search_path: 'legate' });
      unsafe.searchParams.set('options', '-c synchronous_commit=remote_apply');
    } finally {
      await database.close();
    }
    const stronger = (await openDatabase(unsafe.href, { serviceName: name })) as PostgresDatabase;
    try {
      expect((await effective(stronger))['synchronous_commit']).toBe('remote_apply');
    } finally {
      await stronger.close();
    }
  });

  it('a pooler that changes sessions per transaction keeps settings, and caps are exact across instances', async () => {
    const own = await newTestDatabase();
    // The server sessions of the pooler have unsafe settings, and nothing that a client sets in one persists.
    const admin = new pg.Client(own.url);
    await admin.connect();
    const database = new URL(own.url).pathname.slice(1);
    await admin.query(`alter database ${database} set synchronous_commit = off`);
    const pooler = await startTransactionPooler(own.url);
    // This runs after the services are closed.
    onTestFinished(async () => {
      await pooler.close();
      await admin.query(`alter database ${database} reset synchronous_commit`);
      await admin.end();
    });
    const a = await createTestService({ databaseUrl: pooler.url });
    const b = await createTestService({ sameDatabaseAs: a });
    expect(postgresOf(a).session.direct).toBe(false);
    expect(await effective(postgresOf(a))).toMatchObject(SAFE);
    const agent = await capped(a);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(i % 2 ? a : b, agent)));
    expect(answers.filter((r) => r.body.allowed).length).toBe(20);
    expect(new Set(answers.map((r) => r.status))).toEqual(new Set([200]));
  });

  it('with several hosts, uses the first that answers and accepts writes', async () => {
    const own = await newTestDatabase();
    const url = new URL(own.url);
    const two = own.url.replace(url.host, `127.0.0.1:1,${url.host}`);
    const t = await createTestService({ databaseUrl: two });
    expect((await ask(t, await capped(t))).body.allowed).toBe(true);
    const readOnly = encodeURIComponent('-c default_transaction_read_only=on');
    await expect(
      openDatabase(`${own.url}?target_session_attrs=read-write&options=${readOnly}`, { serviceName: own.name }),
    ).rejects.toThrow('The PostgreSQL server accepts no writes.');
  });

  it('with several hosts, decisions and reads do not wait for one that stops responding', async () => {
    const own = await newTestDatabase();
    const { host, port } = new URL(own.url);
    const primary = await proxyTo(Number(port));
    onTestFinished(() => primary.close());
    const t = await createTestService({ databaseUrl: own.url.replace(host, `127.0.0.1:${primary.port},${host}`) });
    const agent = await capped(t);
    const { pool } = postgresOf(t);
    expect((await ask(t, agent)).body.allowed).toBe(true);
    primary.freeze();
    const read = pool.query('select 1');
    await Promise.all([
      expect(read).rejects.toThrow('Connection terminated'),
      ask(t, agent).then(({ status }) => expect(status).toBe(503)),
    ]);
    expect((await ask(t, agent)).body.allowed).toBe(true);
    expect((await pool.query('select 1')).rows).toHaveLength(1);
  });

  it('with several hosts, keeps the connections to a slow one while no other accepts writes', async () => {
    const own = await newTestDatabase();
    const { host, port } = new URL(own.url);
    const slow = await proxyTo(Number(port));
    let tried = (): void => {};
    const other = createServer((socket) => {
      socket.destroy();
      tried();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      other.close();
      await slow.close();
    });
    const hosts = `127.0.0.1:${slow.port},127.0.0.1:${(other.address() as AddressInfo).port}`;
    const t = await createTestService({ databaseUrl: own.url.replace(host, hosts) });
    const { pool } = postgresOf(t);
    await pool.query('select 1');
    slow.freeze();
    const waiting = pool.query('select 1');
    await new Promise<void>((resolve) => {
      tried = resolve;
    });
    slow.mend();
    expect((await waiting).rows).toHaveLength(1);
    expect((await ask(t, await capped(t))).body.allowed).toBe(true);
  });

  it('a statement and its commit take one round trip; a failed statement commits nothing', async () => {
    const { url, name } = await newTestDatabase();
    const database = await openDatabase(url, { serviceName: name });
    if (database.dialect !== 'postgres') throw new Error('this is a test for PostgreSQL');
    onTestFinished(() => database.close());
    await database.pool.query('create table kept (id int primary key)');
    const client = await database.writePool.connect();
    const text = 'insert into kept select * from unnest($1::int[])';
    const ids = async () => (await database.pool.query<{ id: number }>('select id from kept')).rows.map(({ id }) => id);
    for (const statement of [{ name: 'keep', text }, { text }]) {
      await client.query('begin');
      await database.runAndCommit(client, { ...statement, values: [[1, 2]] });
      expect(await ids()).toEqual([1, 2]);
      await client.query('begin');
      await client.query('delete from kept where id = 1');
      const failing = database.runAndCommit(client, { ...statement, values: [[2, 3]] });
      await expect(failing).rejects.toMatchObject({ code: '23505' });
      await client.query('rollback');
      expect(await ids()).toEqual([1, 2]);
      await database.pool.query('delete from kept');
    }
    client.release();
  });

  it('a transaction begins in one round trip with its first statement, which the server plans once', async () => {
    const { url, name } = await newTestDatabase();
    const database = await openDatabase(url, { serviceName: name });
    if (database.dialect !== 'postgres') throw new Error('this is a test for PostgreSQL');
    onTestFinished(() => database.close());
    await database.pool.query('create table counted (id int primary key, n int); insert into counted values (1, 0)');
    const client = await database.writePool.connect();
    const first = { name: 'first', text: 'select n from counted where id = 1 for update' };
    for (const n of [0, 1]) {
      expect((await database.beginAndRun(client, first)).rows).toEqual([{ n }]);
      await database.runAndCommit(client, { text: 'update counted set n = n + $1', values: [1] });
    }
    await expect(database.beginAndRun(client, { name: 'none', text: 'select 1 / 0' })).rejects.toMatchObject({
      code: '22012',
    });
    await client.query('rollback');
    const { rows } = await client.query('select name from pg_prepared_statements');
    expect(rows).toContainEqual({ name: 'first' });
    expect((await database.pool.query('select n from counted')).rows).toEqual([{ n: 2 }]);
    client.release();
  });

  it('an instance that freezes while it locks the head row blocks others for at most 5 seconds', async () => {
    const t = await createTestService();
    const agent = await capped(t);
    const { writePool, session, prefix } = postgresOf(t);
    const frozen = await writePool.connect();
    await frozen.query(`${session.begin}; select seq from ${prefix}head for update`);
    const startedAt = performance.now();
    const statuses: number[] = [];
    while (statuses.at(-1) !== 200) statuses.push((await ask(t, agent)).status);
    expect(performance.now() - startedAt).toBeLessThan(6500);
    expect(new Set(statuses)).toEqual(new Set([503, 200]));
    // The messages that it sends after it wakes up are refused.
    await expect(frozen.query('commit')).rejects.toThrow();
    frozen.release(true);
  });
});
