import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, expect, it } from 'vitest';
import { scratchFolder, serve, signUp } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { Running } from '../support/process.ts';
import type { Json } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Fewer than the failures after which an endpoint is paused. */
const AGENTS = 8;
/** A delivery that was in progress when its process died is repeated after 6 s. */
const TIMEOUT_MS = 1000;
const PATIENCE_MS = 120_000;

interface Received {
  readonly id: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly accepted: boolean;
}

interface Receiver {
  readonly url: string;
  readonly received: Received[];
  accepting: boolean;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Until it accepts messages, the receiver alternately refuses a message and does not respond to one. */
async function receive(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((req, res) => {
    const headers = req.headers as Record<string, string>;
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      received.push({
        id: headers['webhook-id'] ?? '',
        body: Buffer.concat(chunks).toString(),
        headers,
        accepted: receiver.accepting,
      });
      if (receiver.accepting) res.writeHead(204).end();
      else if (received.length % 2 === 1) res.writeHead(500).end();
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    accepting: false,
  };
  return receiver;
}

async function call(running: Running, token: string, path: string, body?: unknown): Promise<Json> {
  const r = await fetch(`${running.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(r.ok, `${path} answered ${r.status}`).toBe(true);
  return r.json();
}

/**
 * Creates agents, kills the process while deliveries are refused, in progress or pending, and checks that another
 * process delivers every event.
 */
async function surviveKill(database: Record<string, string>): Promise<void> {
  const receiver = await receive();
  const { received, url } = receiver;
  const cwd = scratchFolder();
  const env = {
    LEGATE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: 'true',
    LEGATE_WEBHOOKS_TIMEOUT_MS: String(TIMEOUT_MS),
    LEGATE_WEBHOOKS_RETRY_DELAYS_MS: '100,2000,2000',
    ...database,
  };
  const first = await serve({ cwd, env });
  const { id: ownerId, token } = await signUp(first.url);
  const { id, secret } = await call(first, token, '/webhooks', { url, types: ['agent.created'] });
  const make = (): Promise<Json> => call(first, token, '/agents', { ownerId, name: 'a', type: 'service' });
  const made = await Promise.all(Array.from({ length: AGENTS - 1 }, make));
  await until(() => received.length >= 2, { timeout: PATIENCE_MS, interval: 5 });
  made.push(await make());
  const died = new Promise((resolve) => first.process.once('exit', resolve));
  first.process.kill('SIGKILL');
  await died;
  expect(received.some((r) => r.accepted)).toBe(false);

  receiver.accepting = true;
  const second = await serve({ cwd, env });
  const delivered = async (): Promise<Json[]> => call(second, token, `/webhooks/${id}/deliveries?status=delivered`);
  await until(async () => (await delivered()).length === AGENTS, { timeout: PATIENCE_MS, interval: 50 });
  const messages = received
    .filter((r) => r.accepted)
    .map((r) => new Verifier(secret).verify(r.body, r.headers) as Json);
  expect(messages.map((m) => m.data.agentId).sort()).toEqual(made.map((agent) => agent.id).sort());
  // All attempts for a message have the same id and body.
  const bodies = new Map(received.map((r) => [r.id, r.body]));
  expect(bodies.size).toBe(AGENTS);
  for (const r of received) expect(r.body).toBe(bodies.get(r.id));
  expect(await second.stop()).toBe(0);
}

it('webhooks survive kill -9, on SQLite and PostgreSQL', async () => {
  // Both run concurrently, because most of the time is spent waiting.
  await Promise.all([
    surviveKill({}),
    (async () => {
      const postgres = await startPostgres();
      try {
        await surviveKill({ LEGATE_DATABASE_URL: postgres.url });
      } finally {
        await postgres.remove();
      }
    })(),
  ]);
});
