import { readFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { legate, serve } from './cli.ts';
import { freePort, type Running } from './process.ts';

interface Question {
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
}

export interface Answer {
  /** 0: the connection failed. */
  readonly status: number;
  readonly text: string;
}

/** Sends a request over TLS. */
export const send = (url: string, agent: Agent, { path, token, body }: Question): Promise<Answer> =>
  new Promise((resolve) => {
    const headers = {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const req = request(`${url}${path}`, { agent, method: body ? 'POST' : 'GET', headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
      res.on('error', (error) => resolve({ status: 0, text: error.message }));
    });
    req.on('error', (error) => resolve({ status: 0, text: error.message }));
    req.end(body && JSON.stringify(body));
  });

export interface Pair {
  readonly ports: readonly [number, number];
  /** Starts both. */
  start(): Promise<void>;
  /** Stops an instance with SIGTERM, waits for its end, and starts it again on its port. Returns the exit code. */
  restart(i: 0 | 1): Promise<number | null>;
  stop(): Promise<void>;
  /** Environment of the first instance, for commands on its data folder. */
  readonly env: Record<string, string>;
}

/** Two instances in production on one database, for a proxy that serves `url`. */
export async function productionPair(
  cwd: string,
  { url, databaseUrl, drainSeconds }: { url: string; databaseUrl: string; drainSeconds: number },
): Promise<Pair> {
  const ports = [await freePort(), await freePort()] as const;
  const env = {
    NODE_ENV: 'production',
    LEGATE_BASE_URL: url,
    LEGATE_SECRET: '0d'.repeat(32),
    LEGATE_DATABASE_URL: databaseUrl,
    LEGATE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
    LEGATE_SHUTDOWN_DRAIN_SECONDS: String(drainSeconds),
    LEGATE_LOG_LEVEL: 'error',
    LEGATE_ADMIN_EMAIL: 'admin@example.com',
    LEGATE_ADMIN_PASSWORD: 'correct horse battery',
    LEGATE_RATE_LIMIT_ENDPOINTS_SIGN_IN_LIMIT: '10000000',
  };
  const folderOf = (port: number): string => join(cwd, String(port));
  const startOn = (port: number): Promise<Running> =>
    serve({ cwd, env: { ...env, PORT: String(port), LEGATE_DATA_DIR: folderOf(port) } });
  let instances: Running[] = [];
  return {
    ports,
    env: { ...env, LEGATE_DATA_DIR: folderOf(ports[0]) },
    start: async () => {
      instances = await Promise.all(ports.map(startOn));
    },
    restart: async (i) => {
      const code = (await instances[i]?.stop()) ?? null;
      if (code !== 0) throw new Error(`The instance ended with ${code}: ${instances[i]?.output()}`);
      instances[i] = await startOn(ports[i]);
      return code;
    },
    stop: async () => {
      for (const instance of instances) await instance.stop();
    },
  };
}

/** An agent that may read `db:*`, made through the proxy. */
export async function agentBehind(
  url: string,
  agent: Agent,
  cwd: string,
  { env }: Pair,
): Promise<{ token: string; ownerToken: string }> {
  const token = (await legate(['admin', 'token'], { cwd, env })).stdout.trim();
  const { user } = JSON.parse((await send(url, agent, { path: '/auth/session', token })).text);
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  const body = { ownerId: user.id, name: 'a', type: 'service', permissions };
  const made = JSON.parse((await send(url, agent, { path: '/agents', token, body })).text);
  return { token: made.token, ownerToken: token };
}

/** Clients that ask without a pause until they are stopped. */
export function askWithoutPause(url: string, agent: Agent, token: string, count: number) {
  let isOver = false;
  const answers: Answer[] = [];
  const body = { action: 'read', resource: 'db:x' };
  const clients = Array.from({ length: count }, async () => {
    while (!isOver) answers.push(await send(url, agent, { path: '/authorize', token, body }));
  });
  return {
    answers,
    /** Stops the clients. Returns the answers that are not an allowed decision. */
    stop: async (): Promise<Answer[]> => {
      isOver = true;
      await Promise.all(clients);
      return answers.filter(({ status, text }) => status !== 200 || !text.includes('"allowed":true'));
    },
  };
}

/** Signs the administrator in, again and again until it is stopped. */
export function signInWithoutPause(url: string, agent: Agent, { env }: Pair) {
  let isOver = false;
  const body = { email: env['LEGATE_ADMIN_EMAIL'], password: env['LEGATE_ADMIN_PASSWORD'] };
  const answers: Answer[] = [];
  const client = (async () => {
    while (!isOver) answers.push(await send(url, agent, { path: '/sign-in', body }));
  })();
  return {
    answers,
    /** Stops it. Returns the answers that are not a session. */
    stop: async (): Promise<Answer[]> => {
      isOver = true;
      await client;
      return answers.filter(({ status, text }) => status !== 200 || !text.includes('"token"'));
    },
  };
}

/** Reads an event stream. If it ends, connects again with the id of the last event. */
export class ProxiedStream {
  readonly seen: { readonly id: string; readonly event: string | undefined }[] = [];
  /** Connections that were not answered with 200, or that broke. */
  readonly failed: string[] = [];
  connections = 0;
  readonly #open: () => ClientRequest;
  #request: ClientRequest | undefined;
  #isOver = false;

  constructor(url: string, agent: Agent, path: string, token: string) {
    this.#open = () => {
      const last = this.seen.at(-1)?.id;
      const headers = { authorization: `Bearer ${token}`, ...(last ? { 'last-event-id': last } : {}) };
      return request(`${url}${path}`, { agent, headers });
    };
    void this.#follow();
  }

  stop(): void {
    this.#isOver = true;
    this.#request?.destroy();
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) await this.#once();
  }

  #once(): Promise<void> {
    return new Promise((resolve) => {
      const fail = (what: string): void => {
        if (!this.#isOver) this.failed.push(what);
        resolve();
      };
      const req = this.#open();
      this.#request = req;
      req.on('error', ({ message }) => fail(message));
      req.on('response', (res) => {
        this.connections++;
        if (res.statusCode !== 200) fail(`status ${res.statusCode}`);
        const parser = createParser({
          onEvent: ({ id, event, data }) => {
            if (id !== undefined) this.seen.push({ id, event });
            else if (event === 'error') this.failed.push(data);
          },
        });
        res.setEncoding('utf8');
        res.on('data', (piece: string) => parser.feed(piece));
        res.on('error', ({ message }) => fail(message));
        res.on('end', () => resolve());
      });
      req.end();
    });
  }
}

/** Connections that are kept open, to a proxy with this certificate. */
export const keepAlive = (certificate: string): Agent => new Agent({ keepAlive: true, ca: readFileSync(certificate) });
