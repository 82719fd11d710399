import type { ChildProcess } from 'node:child_process';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { chown, copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { endPostgres, initData, type PostgresHome, postgresHome, runPostgres } from '../support/postgres-server.ts';
import { freePort } from '../support/process.ts';

interface Node {
  readonly name: string;
  readonly port: number;
  readonly data: string;
  process: ChildProcess | undefined;
}

const DEADLINE_MS = 60_000;

/** Two PostgreSQL servers: a primary, and a synchronous standby that can take over. */
export class PostgresPair {
  readonly #home: PostgresHome;
  #primary: Node;
  #standby: Node;

  private constructor(home: PostgresHome, primary: Node, standby: Node) {
    this.#home = home;
    this.#primary = primary;
    this.#standby = standby;
    process.once('exit', () => {
      for (const node of [primary, standby]) node.process?.kill('SIGQUIT');
    });
  }

  static async start(): Promise<PostgresPair> {
    const home = postgresHome();
    const [a, b] = [await freePort(), await freePort()];
    const primary: Node = { name: 'a', port: a, data: initData(home, 'a'), process: undefined };
    const standby: Node = { name: 'b', port: b, data: join(home.dir, 'b'), process: undefined };
    const pair = new PostgresPair(home, primary, standby);
    await pair.#run(primary);
    await pair.#addStandby();
    return pair;
  }

  /** The ports of both servers, either of which may be the primary. */
  get ports(): readonly [number, number] {
    const [a, b] = this.#primary.name === 'a' ? [this.#primary, this.#standby] : [this.#standby, this.#primary];
    return [a.port, b.port];
  }

  /** When each promotion of a standby was completed. */
  readonly promotions: number[] = [];

  /** The address of the current primary. */
  get url(): string {
    return urlOf(this.#primary);
  }

  /** Ends the primary, and starts it again on its data. */
  async restart(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL', downMs: number): Promise<void> {
    await endPostgres(this.#primary.process, signal);
    await new Promise((resolve) => setTimeout(resolve, downMs));
    await this.#run(this.#primary);
  }

  /** Breaks every connection of a client. */
  async breakConnections(): Promise<void> {
    await this.#query(
      this.#primary,
      'select pg_terminate_backend(pid) from pg_stat_activity ' +
        "where backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
  }

  /** Kills the primary, and promotes the standby after a while. The former primary becomes the standby. */
  async failOver(downMs: number): Promise<void> {
    await endPostgres(this.#primary.process, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, downMs));
    // Commits of the new primary wait for no standby until there is one again.
    await this.#query(this.#standby, "alter system set synchronous_standby_names = ''");
    await this.#query(this.#standby, 'select pg_reload_conf()');
    await this.#query(this.#standby, 'select pg_promote()');
    this.promotions.push(performance.now());
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    await this.#addStandby();
  }

  async remove(): Promise<void> {
    for (const node of [this.#standby, this.#primary]) await endPostgres(node.process, 'SIGQUIT');
    rmSync(this.#home.dir, { recursive: true, force: true });
  }

  async #run(node: Node): Promise<void> {
    // The children of a killed server remain for a moment, and keep its shared memory.
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      try {
        node.process = await runPostgres(this.#home, node.data, node.port, [
          'wal_keep_size=256MB',
          'shared_buffers=32MB',
        ]);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** Copies the data of the running primary, starts the copy as its standby, and makes commits wait for it. */
  async #addStandby(): Promise<void> {
    const { user } = this.#home;
    const standby = this.#standby;
    await rm(standby.data, { recursive: true, force: true });
    const client = await connect(this.#primary);
    let label: string;
    try {
      await client.query("select pg_backup_start('standby', true)");
      await copyData(this.#primary.data, standby.data, user);
      const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
      label = rows[0].labelfile as string;
    } finally {
      await client.end();
    }
    const { port } = this.#primary;
    appendFileSync(
      join(standby.data, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=postgres application_name=standby'\n`,
    );
    writeFileSync(join(standby.data, 'backup_label'), label);
    writeFileSync(join(standby.data, 'standby.signal'), '');
    if (user)
      for (const name of ['backup_label', 'standby.signal']) await chown(join(standby.data, name), user.uid, user.gid);
    // WAL of which the copy has only a part is fetched from the primary.
    await this.#run(standby);
    await this.#query(this.#primary, "alter system set synchronous_standby_names = 'standby'");
    await this.#query(this.#primary, 'select pg_reload_conf()');
    const deadline = performance.now() + DEADLINE_MS;
    while ((await this.#query(this.#primary, "select 1 from pg_stat_replication where sync_state = 'sync'")) === 0) {
      if (performance.now() > deadline) throw new Error('The standby did not become synchronous.');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #query(node: Node, text: string): Promise<number> {
    const client = await connect(node);
    try {
      return (await client.query(text)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  }
}

const urlOf = ({ port }: Node): string => `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;

async function connect(node: Node): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: urlOf(node) });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const NOT_COPIED = /postmaster\.(pid|opts)$|standby\.signal$|pg_internal\.init$|pgsql_tmp/;

/**
 * Copies the files of a running server, without blocking this process, in which the clients run. A backup does not need
 * the files that the server deletes during the copy, such as old WAL.
 */
async function copyData(from: string, to: string, user: { uid: number; gid: number } | undefined): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (NOT_COPIED.test(source)) continue;
    try {
      if (entry.isDirectory()) await copyData(source, target, user);
      else if (entry.isFile()) await copyFile(source, target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      continue;
    }
    if (user && entry.isFile()) await chown(target, user.uid, user.gid);
  }
  if (user) await chown(to, user.uid, user.gid);
}
