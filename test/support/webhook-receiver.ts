import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { dispatcherOf } from '../../src/activity/webhooks/dispatcher.ts';
import { createTestService, FakeClock, type Json, type TestService, type TestUser } from './service.ts';

export interface Received {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A service whose webhooks may use loopback addresses, and a receiver for them, for the tests of one file. */
export interface WebhookReceiver {
  readonly t: TestService;
  readonly owner: TestUser;
  readonly stranger: TestUser;
  readonly server: Server;
  /** The address of the receiver, without a path. */
  readonly base: string;
  readonly received: Received[];
  /** The response for each path. The default is 204. */
  readonly answers: Map<string, (req: IncomingMessage, res: ServerResponse) => void>;
  newPath(): string;
  make(o?: { as?: TestUser; path?: string; types?: string[] | null }): Promise<Json>;
  deliverAll(on?: TestService): Promise<void>;
  at(path: string): readonly Received[];
  deliveries(webhook: Json, query?: string): Promise<Json[]>;
  pathOf(webhook: Json): string;
}

export function webhookReceiver(): WebhookReceiver {
  let t: TestService;
  let owner: TestUser;
  let stranger: TestUser;
  let server: Server;
  let base: string;
  let received: Received[] = [];
  let paths = 0;
  const answers: WebhookReceiver['answers'] = new Map();

  beforeAll(async () => {
    server = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        received.push({
          path: req.url ?? '',
          headers: req.headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
        });
        (answers.get(req.url ?? '') ?? ((_, r) => r.writeHead(204).end()))(req, res);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const clock = new FakeClock();
    // The independent verifier always uses the real clock.
    clock.set(new Date().toISOString());
    t = await createTestService({ lasting: true, clock, config: { webhooks: { allowPrivateNetworks: true } } });
    owner = await t.user();
    stranger = await t.user();
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received = [];
    // A receiver that never answers would delay the deliveries of later tests.
    answers.clear();
  });

  const newPath = (): string => `/hook${++paths}`;
  return {
    get t() {
      return t;
    },
    get owner() {
      return owner;
    },
    get stranger() {
      return stranger;
    },
    get server() {
      return server;
    },
    get base() {
      return base;
    },
    get received() {
      return received;
    },
    answers,
    newPath,
    async make(o = {}) {
      const r = await t.call('POST', '/webhooks', {
        as: o.as ?? owner,
        body: { url: base + (o.path ?? newPath()), ...(o.types === undefined ? {} : { types: o.types }) },
      });
      expect(r.status, r.text).toBe(201);
      return r.body;
    },
    deliverAll: (on = t) => dispatcherOf(on.legate.platform).runUntilIdle(),
    at: (path) => received.filter((r) => r.path === path),
    deliveries: async (webhook, query = '') =>
      (await t.call('GET', `/webhooks/${webhook.id}/deliveries${query}`, { as: owner })).body,
    pathOf: (webhook) => new URL(webhook.url).pathname,
  };
}
