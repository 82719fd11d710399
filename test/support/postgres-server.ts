import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { postgresBinaries, serverUser } from './postgres-binaries.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

export interface TestPostgres {
  readonly url: string;
  readonly port: number;
  /** Ends every connection and the server; its data stay. */
  stop(): Promise<void>;
  /** Starts a stopped server again on the same port and data. */
  start(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;

/** Starts a real PostgreSQL server on a free port. Works as root too, with a system user. */
export async function startPostgres(): Promise<TestPostgres> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'legate-pg-'));
  // The system user must be able to enter the folder that root created.
  chmodSync(dir, 0o755);
  const user = serverUser();
  const bin = join(postgresBinaries(user, dir), 'bin');
  const data = join(dir, 'data');
  const passwordFile = join(dir, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, 'postgres\n', { mode: 0o600 });
  if (user) for (const path of [data, passwordFile]) chownSync(path, user.uid, user.gid);
  // initdb and the server look for this text in their output.
  const env = { ...process.env, LC_ALL: 'C', LC_MESSAGES: 'C' };
  execFileSync(
    join(bin, 'initdb'),
    [
      `--pgdata=${data}`,
      '--username=postgres',
      '--auth=password',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--no-sync',
    ],
    {
      ...user,
      env,
      cwd: dir,
      stdio: 'pipe',
    },
  );

  let server: ChildProcess | undefined;
  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      // Tests stop the server but not the machine, whose file cache survives, so fsync is not needed.
      const flags = [
        '-c',
        'max_connections=300',
        '-c',
        'fsync=off',
        '-c',
        'full_page_writes=off',
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        `unix_socket_directories=`,
      ];
      const started = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
        ...user,
        env,
        cwd: dir,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      server = started;
      let said = '';
      const timer = setTimeout(
        () => reject(new Error(`PostgreSQL did not start within ${START_TIMEOUT_MS} ms: ${said}`)),
        START_TIMEOUT_MS,
      );
      started.stderr?.on('data', (chunk: Buffer) => {
        if (said.length < 10_000) said += chunk.toString();
        if (said.includes('ready to accept connections')) {
          clearTimeout(timer);
          resolve();
        }
      });
      started.once('error', reject);
      started.once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`PostgreSQL ended with ${code}: ${said}`));
      });
    });
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      const running = server;
      server = undefined;
      if (!running || running.exitCode !== null) return resolve();
      running.once('exit', () => resolve());
      // Fast shutdown: connections are broken, data are flushed.
      running.kill('SIGINT');
    });
  // An interrupted test run must not leave a server running.
  process.once('exit', () => server?.kill('SIGINT'));
  await start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    port,
    stop,
    start,
    remove: async () => {
      await stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.remove();
}
