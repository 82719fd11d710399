import { join } from 'node:path';
import { PROGRAM } from '../support/cli.ts';
import { type Running, startProcess } from '../support/process.ts';
import { startRedis, type Wire, wireTo } from '../support/redis-wire.ts';
import { PostgresPair } from './postgres-pair.ts';
import { type FaultyProxy, proxyTo } from './proxy.ts';

const LIMITED = ['SIGN_IN', 'SIGN_UP', 'TOKEN', 'AUTHORIZATION', 'REVOCATION', 'INTROSPECTION', 'REGISTRATION'];
/** Longer than a restart of PostgreSQL with a failover. */
const START_DEADLINE_MS = 90_000;

/** An instance as a process, with its own network to the databases. */
export class Instance {
  readonly number: number;
  readonly #cwd: string;
  readonly #env: Record<string, string>;
  readonly proxies: readonly FaultyProxy[];
  #running: Running | undefined;
  #earlierOutput = '';
  #isClosed = false;

  constructor(number: number, cwd: string, env: Record<string, string>, proxies: readonly FaultyProxy[]) {
    this.number = number;
    this.#cwd = cwd;
    this.#env = env;
    this.proxies = proxies;
  }

  /** Undefined while the instance is down. */
  get url(): string | undefined {
    return this.#running?.url;
  }

  /** The output of all its processes so far. */
  get output(): string {
    return this.#earlierOutput + (this.#running?.output() ?? '');
  }

  /** Starts the instance, repeatedly while the database is away. */
  async start(): Promise<void> {
    const deadline = performance.now() + START_DEADLINE_MS;
    while (!this.#isClosed) {
      try {
        this.#running = await startProcess([process.execPath, PROGRAM, 'serve'], { cwd: this.#cwd, env: this.#env });
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#running?.process.kill(signal);
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    const exit = new Promise((resolve) => running.process.once('exit', resolve));
    running.process.kill('SIGKILL');
    await exit;
    this.#earlierOutput += running.output();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
    for (const proxy of this.proxies) await proxy.close();
  }
}

export interface Cluster {
  readonly instances: readonly Instance[];
  readonly postgres: PostgresPair;
  /** Undefined if this machine has no Redis. */
  readonly redis: Wire | undefined;
  close(): Promise<void>;
}

/**
 * Starts PostgreSQL with a synchronous standby, Redis and three instances, each with its own proxies to the databases.
 */
export async function startCluster(cwd: string): Promise<Cluster> {
  const postgres = await PostgresPair.start();
  const server = await startRedis();
  const redis = server && (await wireTo(server.url));
  const shared = {
    LEGATE_BASE_URL: 'http://localhost:3000',
    LEGATE_SECRET: 'fa'.repeat(32),
    LEGATE_AGENTS_MAX_PER_OWNER: '10000000',
    LEGATE_LOG_LEVEL: 'error',
    ...Object.fromEntries(LIMITED.map((name) => [`LEGATE_RATE_LIMIT_ENDPOINTS_${name}_LIMIT`, '10000000'])),
    ...(redis ? { LEGATE_REDIS_URL: redis.url, LEGATE_RATE_LIMIT_STORE: 'redis' } : {}),
  };
  const urlOf = (ports: readonly number[]): string =>
    `postgres://postgres:postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}` +
    '/postgres?target_session_attrs=read-write';
  const instances: Instance[] = [];
  for (let number = 0; number < 3; number++) {
    const proxies = await Promise.all(postgres.ports.map(proxyTo));
    const env = {
      ...shared,
      LEGATE_DATABASE_URL: urlOf(proxies.map(({ port }) => port)),
      LEGATE_DATA_DIR: join(cwd, `instance-${number}`),
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'movable-clock.mjs')}`,
    };
    instances.push(new Instance(number, cwd, env, proxies));
  }
  await Promise.all(instances.map((instance) => instance.start()));
  return {
    instances,
    postgres,
    redis,
    close: async () => {
      for (const instance of instances) await instance.close();
      await redis?.close();
      server?.stop();
      await postgres.remove();
    },
  };
}
