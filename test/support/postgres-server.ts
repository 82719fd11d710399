import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { postgresBinaries, type ServerUser, serverUser } from './postgres-binaries.ts';
import { freePort } from './process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export interface TestPostgres {
  readonly url: string;
  readonly port: number;
  /** Ends every connection and the server; its data remains. */
  stop(): Promise<void>;
  /** Starts a stopped server again on the same port and data. */
  start(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

const START_TIMEOUT_MS = 120_000;

/** Programs, system user and a scratch folder of PostgreSQL servers. */
export interface PostgresHome {
  readonly dir: string;
  readonly bin: string;
  readonly user: ServerUser | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** Finds the programs and creates the scratch folder. Works as root too, with a system user. */
export function postgresHome(): PostgresHome {
  const dir = mkdtempSync(join(tmpdir(), 'legate-pg-'));
  // The system user must be able to enter the folder that root created.
  chmodSync(dir, 0o755);
  const user = serverUser();
  const bin = join(postgresBinaries(user, dir), 'bin');
  // This text is in the output of initdb and of the server.
  return { dir, bin, user, env: { ...process.env, LC_ALL: 'C', LC_MESSAGES: 'C' } };
}

/** Creates a data folder of that name with the user and password `postgres`. Returns its path. */
export function initData({ dir, bin, user, env }: PostgresHome, name: string): string {
  const data = join(dir, name);
  const passwordFile = join(dir, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, 'postgres\n', { mode: 0o600 });
  if (user) for (const path of [data, passwordFile]) chownSync(path, user.uid, user.gid);
  execFileSync(
    join(bin, 'initdb'),
    [
      `--pgdata=${data}`,
      '--username=postgres',
      '--auth=password',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--no-sync',
      // The usual 4096 rounds are most of the cost of a connection, and each test opens several.
      '--set=scram_iterations=1',
    ],
    { ...user, env, cwd: dir, stdio: 'pipe' },
  );
  return data;
}

/** Starts a server on a data folder. Resolves when it accepts connections. */
export function runPostgres(
  { dir, bin, user, env }: PostgresHome,
  data: string,
  port: number,
  settings: readonly string[] = [],
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const flags = [
      'max_connections=375',
      // Tests stop the server but not the operating system, whose file cache remains, so fsync is not needed.
      'fsync=off',
      'full_page_writes=off',
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...settings,
    ].flatMap((setting) => ['-c', setting]);
    const started = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
      ...user,
      env,
      cwd: dir,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    const timer = setTimeout(() => {
      started.kill('SIGINT');
      reject(new Error(`PostgreSQL did not start within ${START_TIMEOUT_MS} ms: ${said}`));
    }, START_TIMEOUT_MS);
    started.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString();
      if (/ready to accept (read-only )?connections/.test(said)) {
        clearTimeout(timer);
        resolve(started);
      }
    });
    started.once('error', reject);
    started.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`PostgreSQL ended with ${code}: ${said}`));
    });
  });
}

/** Ends a server. SIGINT closes connections and flushes data, SIGKILL does neither. */
export const endPostgres = (server: ChildProcess | undefined, signal: NodeJS.Signals = 'SIGINT'): Promise<void> =>
  new Promise((resolve) => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return resolve();
    server.once('exit', () => resolve());
    server.kill(signal);
  });

/** Starts a real PostgreSQL server on a free port. */
export async function startPostgres(): Promise<TestPostgres> {
  const port = await freePort();
  const home = postgresHome();
  const data = initData(home, 'data');
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    server = await runPostgres(home, data, port);
  };
  const stop = (): Promise<void> => {
    const running = server;
    server = undefined;
    return endPostgres(running);
  };
  // An interrupted test run must not leave a server running.
  const interrupt = (): void => void server?.kill('SIGINT');
  process.once('exit', interrupt);
  await start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    port,
    stop,
    start,
    remove: async () => {
      await stop();
      process.off('exit', interrupt);
      rmSync(home.dir, { recursive: true, force: true });
    },
  };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.remove();
}
