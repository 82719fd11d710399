import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { legate, PROGRAM, root, serve } from './cli.ts';
import { runNginx } from './nginx.ts';
import { freePort, type Running } from './process.ts';

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  /** 0 if the connection failed. */
  readonly status: number;
  readonly text: string;
  readonly headers?: IncomingHttpHeaders;
}

/** Sends a request over TLS. */
export const send = (url: string, agent: Agent, { method, path, token, body, ...more }: Question): Promise<Answer> =>
  new Promise((resolve) => {
    const headers = {
      ...more.headers,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const req = request(`${url}${path}`, { agent, method: method ?? (body ? 'POST' : 'GET'), headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text, headers: res.headers }));
      res.on('error', (error) => resolve({ status: 0, text: error.message }));
    });
    req.on('error', (error) => resolve({ status: 0, text: error.message }));
    req.end(body && JSON.stringify(body));
  });

export interface Pair {
  readonly ports: readonly [number, number];
  /** Starts both. */
  start(): Promise<void>;
  /**
   * Stops an instance with SIGTERM, waits for its end, and starts it, or another program, on the same port. Returns the
   * exit code.
   */
  restart(i: 0 | 1, program?: string): Promise<number | null>;
  stop(): Promise<void>;
  /** The environment of the first instance, for commands on its data folder. */
  readonly env: Record<string, string>;
}

/** Starts two production instances of a program on one database, for a proxy that serves `url`. */
export async function productionPair(
  cwd: string,
  o: {
    url: string;
    databaseUrl: string;
    drainSeconds: number;
    program?: string;
    env?: Record<string, string>;
  },
): Promise<Pair> {
  const { url, databaseUrl, drainSeconds } = o;
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
    ...o.env,
  };
  const folderOf = (port: number): string => join(cwd, String(port));
  const startOn = (port: number, program = o.program ?? PROGRAM): Promise<Running> =>
    serve({
      cwd,
      env: { ...env, PORT: String(port), LEGATE_DATA_DIR: folderOf(port) },
      command: [process.execPath, program, 'serve'],
    });
  let instances: Running[] = [];
  return {
    ports,
    env: { ...env, LEGATE_DATA_DIR: folderOf(ports[0]) },
    start: async () => {
      instances = await Promise.all(ports.map((port) => startOn(port)));
    },
    restart: async (i, program) => {
      const code = (await instances[i]?.stop()) ?? null;
      if (code !== 0) throw new Error(`The instance ended with ${code}: ${instances[i]?.output()}`);
      instances[i] = await startOn(ports[i], program);
      return code;
    },
    stop: async () => {
      for (const instance of instances) await instance.stop();
    },
  };
}

/** Runs nginx with deploy/nginx/legate.conf in front of two instances. */
export async function nginxBefore({ ports }: Pair, cwd: string, port: number): Promise<{ stop(): Promise<void> }> {
  return runNginx(
    cwd,
    join(root, 'deploy/nginx/legate.conf'),
    [
      ['127.0.0.1:3001 ', `127.0.0.1:${ports[0]} `],
      ['127.0.0.1:3002 ', `127.0.0.1:${ports[1]} `],
      ['listen 443 ', `listen 127.0.0.1:${port} `],
      ['listen 80;', `listen 127.0.0.1:${await freePort()};`],
      ['legate.example.com', 'localhost'],
      ['/etc/ssl/legate', cwd],
    ],
    port,
  );
}

/** Creates an agent that may read `db:*`, through the proxy. */
export async function agentBehind(
  url: string,
  agent: Agent,
  cwd: string,
  { env }: Pair,
): Promise<{ token: string; ownerId: string; ownerToken: string }> {
  const token = (await legate(['admin', 'token'], { cwd, env })).stdout.trim();
  const { user } = JSON.parse((await send(url, agent, { path: '/auth/session', token })).text);
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  const body = { ownerId: user.id, name: 'a', type: 'service', permissions };
  const made = JSON.parse((await send(url, agent, { path: '/agents', token, body })).text);
  return { token: made.token, ownerId: user.id, ownerToken: token };
}

/** Requests that clients send until they are stopped. */
export interface Load {
  readonly answers: Answer[];
  /** Stops the clients. Returns the incorrect responses. */
  stop(): Promise<Answer[]>;
}

/** The pause between two rounds of a client, so that the load leaves processor time for the tested instances. */
const PAUSE_MS = 40;
/** A sign-in takes as much processor time as many decisions. */
const SIGN_IN_PAUSE_MS = 200;

/** Starts clients that repeat `round`, which returns a response and whether it is correct. */
function steadily(
  count: number,
  round: (keep: (answer: Answer, isRight: boolean) => void) => Promise<void>,
  pauseMs = PAUSE_MS,
): Load {
  let isOver = false;
  const answers: Answer[] = [];
  const wrong: Answer[] = [];
  const keep = (answer: Answer, isRight: boolean): void => {
    answers.push(answer);
    if (!isRight) wrong.push(answer);
  };
  const clients = Array.from({ length: count }, async () => {
    while (!isOver) {
      await round(keep);
      await sleep(pauseMs);
    }
  });
  return {
    answers,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      return wrong;
    },
  };
}

const QUESTION = { action: 'read', resource: 'db:x' };
const isAllowed = ({ status, text }: Answer): boolean => status === 200 && text.includes('"allowed":true');

/** Starts clients that request decisions until they are stopped. The correct response is an allowed decision. */
export const askSteadily = (url: string, agent: Agent, token: string, count: number): Load =>
  steadily(count, async (keep) => {
    const answer = await send(url, agent, { path: '/authorize', token, body: QUESTION });
    keep(answer, isAllowed(answer));
  });

/** Signs the administrator in repeatedly until it is stopped. The correct response is a session. */
export const signInSteadily = (url: string, agent: Agent, { env }: Pair): Load =>
  steadily(
    1,
    async (keep) => {
      const body = { email: env['LEGATE_ADMIN_EMAIL'], password: env['LEGATE_ADMIN_PASSWORD'] };
      const answer = await send(url, agent, { path: '/sign-in', body });
      keep(answer, answer.status === 200 && answer.text.includes('"token"'));
    },
    SIGN_IN_PAUSE_MS,
  );

/**
 * Creates and revokes agents, one after the other, until it is stopped. An agent is correct if all its calls are
 * allowed before the response to the revocation, and none afterwards.
 */
export const revokeSteadily = (url: string, agent: Agent, token: string, ownerId: string): Load =>
  steadily(1, async (keep) => {
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const body = { ownerId, name: 'short', type: 'service', permissions };
    const made = await send(url, agent, { path: '/agents', token, body });
    keep(made, made.status === 201);
    if (made.status !== 201) return;
    const { id, token: own } = JSON.parse(made.text);
    const ask = (): Promise<Answer> => send(url, agent, { path: '/authorize', token: own, body: QUESTION });
    const before = await ask();
    keep(before, isAllowed(before));
    const revoked = await send(url, agent, { method: 'DELETE', path: `/agents/${id}`, token });
    keep(revoked, revoked.status === 204);
    const after = await ask();
    keep(after, after.status === 401);
  });

/** Reads an event stream. If it ends, connects again with the id of the last event. */
export class ProxiedStream {
  readonly seen: { readonly id: string; readonly event: string | undefined }[] = [];
  /** The number of connections that broke or were not answered with 200. */
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
