import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { newId } from '../../kernel/ids.ts';
import { dispatcherOf, newDelivery } from './dispatcher.ts';

/**
 * A length that no other timer has. This time never passes: `deliverAll` ends it for requests without a complete
 * response.
 */
const TIMEOUT_MS = 29_999;
const RETRIES = [5000, 300_000, 1_800_000];

const head = (status: string, ...lines: string[]): string =>
  `${[`HTTP/1.1 ${status}`, 'connection: close', ...lines].join('\r\n')}\r\n\r\n`;
/** Sends the first text, then one byte at a time. */
const drip = (socket: Socket, first: string): void => {
  socket.write(first);
  const timer = setInterval(() => socket.write('.'), 20);
  socket.on('close', () => clearInterval(timer));
};
/** The bytes that each receiver sent, by path. */
const sent = new Map<string, number>();
/** Sends the first text, then 100 MB as fast as the client reads. */
function pour(socket: Socket, path: string, first: string): void {
  socket.write(first);
  let left = 100 * 2 ** 20;
  socket.on('close', () => sent.set(path, socket.bytesWritten));
  const zeros = Buffer.alloc(65_536);
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= zeros.length;
      if (!socket.write(zeros)) return void socket.once('drain', more);
    }
    socket.end();
  };
  more();
}

type Receiver = { readonly answer: (socket: Socket, path: string) => void; readonly want: Json };
const answered = (status: number): Json => ({ lastStatus: status, lastError: `answered ${status}` });
const silent = (reason: string): Json => ({ lastStatus: null, lastError: reason });
const TIMED_OUT = silent('timeout');

let server: Server;
let base: string;
/** Accepts connections and never reads from them. */
let deaf: Server;

/** What each receiver does with a complete request, and the result that the delivery shows. */
const failing: Record<string, Receiver> = {
  '/500': { answer: (s) => s.end(head('500 No')), want: answered(500) },
  '/404': { answer: (s) => s.end(head('404 No')), want: answered(404) },
  '/301': { answer: (s) => s.end(head('301 Moved', `location: ${base}/elsewhere`)), want: answered(301) },
  '/302': { answer: (s) => s.end(head('302 Found', `location: ${base}/elsewhere`)), want: answered(302) },
  '/307': {
    answer: (s) => s.end(head('307 Temporary', 'location: http://169.254.169.254/latest/meta-data')),
    want: answered(307),
  },
  '/never': { answer: () => {}, want: TIMED_OUT },
  '/drip-head': { answer: (s) => drip(s, 'HTTP/1.1 200 OK\r\nx: '), want: TIMED_OUT },
  '/drip-body': { answer: (s) => drip(s, head('200 OK', 'content-length: 9999')), want: TIMED_OUT },
  '/close': { answer: (s) => s.end(), want: silent('connection_failed') },
  '/reset': { answer: (s) => s.resetAndDestroy(), want: silent('connection_failed') },
  '/short': { answer: (s) => s.end(head('200 OK', 'content-length: 100')), want: silent('connection_failed') },
  '/garbage': { answer: (s) => s.end('\0\x01\x02 SSH-2.0-x\r\n\r\n'), want: silent('response_invalid') },
  '/long-head': { answer: (s) => s.end(head('200 OK', `x: ${'y'.repeat(100_000)}`)), want: silent('response_invalid') },
  '/protocol': {
    answer: (s) => s.end('HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    want: silent('response_invalid'),
  },
};
const accepting: Record<string, Receiver> = {
  '/100-mb': {
    answer: (s, path) => pour(s, path, head('200 OK', `content-length: ${100 * 2 ** 20}`)),
    want: { lastStatus: 200, lastError: null },
  },
  '/100-mb-unannounced': {
    answer: (s, path) => pour(s, path, head('202 OK')),
    want: { lastStatus: 202, lastError: null },
  },
  '/gzip': {
    answer: (s) => s.end(`${head('200 OK', 'content-encoding: gzip', 'content-length: 5')}12345`),
    want: { lastStatus: 200, lastError: null },
  },
};
const receivers: Record<string, Receiver> = { ...failing, ...accepting };

let t: TestService;
let owner: TestUser;
/** The `webhook-id` of each request, by path. */
const ids = new Map<string, string[]>();
const sockets = new Set<Socket>();
/** Connections whose request never gets a complete response. */
const held = new Set<Socket>();
const hold = (socket: Socket): void => {
  held.add(socket);
  socket.on('close', () => held.delete(socket));
};
/** The time limits of the requests in progress. */
const limits = new Map<NodeJS.Timeout, () => void>();

beforeAll(async () => {
  const { setTimeout: start, clearTimeout: clear } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms?: number) => {
    const timer = start(done, ms);
    if (ms === TIMEOUT_MS) limits.set(timer, done);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    limits.delete(timer as NodeJS.Timeout);
    clear(timer);
  });
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const [, path = '', length = ''] = /^POST (\S+) HTTP\/1.1\r\n.*?content-length: (\d+)\r\n/is.exec(text) ?? [];
      const end = text.indexOf('\r\n\r\n');
      if (path === '' || end < 0 || text.length < end + 4 + Number(length)) return;
      socket.removeAllListeners('data').resume();
      ids.set(path, [...(ids.get(path) ?? []), /webhook-id: (\S+)/i.exec(text)?.[1] ?? '']);
      if (receivers[path]?.want === TIMED_OUT) hold(socket);
      receivers[path]?.answer(socket, path);
    });
  });
  deaf = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    hold(socket);
  });
  for (const each of [server, deaf]) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
  base = addressOf(server);
  t = await createTestService({
    lasting: true,
    config: { webhooks: { allowPrivateNetworks: true, timeoutMs: TIMEOUT_MS, retryDelaysMs: RETRIES } },
  });
  owner = await t.user();
});
afterAll(() => {
  vi.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  server.close();
  deaf.close();
});

const addressOf = (each: Server): string => `http://127.0.0.1:${(each.address() as { port: number }).port}`;
/** Delivers everything that is due. When only requests without a complete response are left, their time limit ends. */
async function deliverAll(): Promise<void> {
  let isOver = false;
  const delivered = dispatcherOf(t.legate.platform)
    .runUntilIdle()
    .finally(() => (isOver = true));
  while (!isOver) {
    if (limits.size > 0 && limits.size === held.size) {
      for (const [timer, timeOut] of [...limits]) {
        clearTimeout(timer);
        timeOut();
      }
      for (const socket of held) socket.destroy();
      held.clear();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await delivered;
}
const deliveries = async (webhook: Json, as = owner): Promise<Json[]> =>
  (await t.call('GET', `/webhooks/${webhook.id}/deliveries?limit=1000`, { as })).body;

const post = async (url: string, as = owner): Promise<Json> =>
  (await t.call('POST', '/webhooks', { as, body: { url, types: ['agent.created'] } })).body;

describe('receivers that fail', () => {
  it('each gets one attempt and three retries; the drop has a reason, and redelivery the same webhook-id', async () => {
    const hooks = new Map<string, Json>();
    for (const path of Object.keys(receivers)) hooks.set(path, await post(base + path));
    const unheard = await post(addressOf(deaf));
    const unheardOf = await post('http://127.0.0.1:1/nobody-listens');
    await t.agent(owner);
    const seen = async (status: string, attempts: number): Promise<void> => {
      for (const [path, { want }] of Object.entries(failing)) {
        const [one, ...more] = await deliveries(hooks.get(path));
        expect([path, one, more.length]).toEqual([path, expect.objectContaining({ status, attempts, ...want }), 0]);
        expect([path, ids.get(path)]).toEqual([path, Array(attempts).fill(one.eventId)]);
      }
    };
    await deliverAll();
    await seen('pending', 1);
    for (const [path, { want }] of Object.entries(accepting))
      expect([path, await deliveries(hooks.get(path))]).toEqual([
        path,
        [expect.objectContaining({ status: 'delivered', attempts: 1, ...want })],
      ]);
    for (const [i, wait] of RETRIES.entries()) {
      t.clock.advance(wait * 0.9 - 1);
      await deliverAll();
      await seen('pending', i + 1);
      t.clock.advance(wait * 0.2 + 2);
      await deliverAll();
      await seen(i === RETRIES.length - 1 ? 'dropped' : 'pending', i + 2);
    }
    // Upkeep deletes old deliveries, so the clock advances by a day only.
    t.clock.advance(86_400_000);
    await deliverAll();
    await seen('dropped', 4);
    expect(await deliveries(unheard)).toMatchObject([{ status: 'dropped', attempts: 4, ...TIMED_OUT }]);
    expect(await deliveries(unheardOf)).toMatchObject([
      { status: 'dropped', attempts: 4, ...silent('connection_failed') },
    ]);
    // No redirect was followed, and of 100 MB only what fits into the buffers of a connection was read.
    expect(ids.has('/elsewhere')).toBe(false);
    await until(() => sent.size === 2);
    for (const bytes of sent.values()) expect(bytes).toBeLessThan(20 * 2 ** 20);

    for (const path of Object.keys(failing)) {
      const hook = hooks.get(path);
      const [dropped] = await deliveries(hook);
      receivers[path] = { answer: (s) => s.end(head('204 Good')), want: {} };
      expect((await t.call('POST', `/webhooks/deliveries/${dropped.id}/redeliver`, { as: owner })).body).toMatchObject({
        status: 'pending',
        attempts: 0,
      });
    }
    await deliverAll();
    for (const path of Object.keys(failing)) {
      expect((await deliveries(hooks.get(path)))[0]).toMatchObject({
        status: 'delivered',
        attempts: 1,
        lastStatus: 204,
        lastError: null,
      });
      expect(new Set(ids.get(path)).size).toBe(1);
    }
  });
});

describe('the order of deliveries', () => {
  const waiting = async (): Promise<number> => {
    const { read } = t.legate.platform.database;
    return (
      await read
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('status', '=', 'pending')
        .where('lease_until', '=', 0)
        .execute()
    ).length;
  };

  it('a backlog of one endpoint does not delay others; after five failures it gets one message at a time', async () => {
    const [crowded, quick] = [await t.user(), await t.user()];
    receivers['/quick'] = { answer: (s) => s.end(head('204 Good')), want: {} };
    const { write } = t.legate.platform.database;
    const hooks = [await post(addressOf(deaf), crowded), await post(addressOf(deaf), crowded)] as const;
    await write.updateTable('webhooks').set({ failures: 5 }).where('id', '=', hooks[1].id).execute();
    const now = t.clock.now();
    for (const hook of hooks) {
      const rows = Array.from({ length: 200 }, () =>
        newDelivery(now - 1000, hook.id, newId('event', now), 'agent.created', '{}'),
      );
      for (let i = 0; i < rows.length; i += 50)
        await write
          .insertInto('webhook_deliveries')
          .values(rows.slice(i, i + 50))
          .execute();
    }
    await post(`${base}/quick`, quick);
    await t.agent(quick);
    await dispatcherOf(t.legate.platform).run();
    expect(await waiting()).toBe(400 - 5 - 1);
    await until(() => ids.get('/quick')?.length === 1);
    for (const { id } of hooks) await t.call('DELETE', `/webhooks/${id}`, { as: crowded });
    await deliverAll();
  });

  it('an owner with many silent endpoints leaves capacity for others', async () => {
    const [many, quick] = [await t.user(), await t.user()];
    receivers['/other'] = { answer: (s) => s.end(head('204 Good')), want: {} };
    for (let i = 0; i < 30; i++) await post(addressOf(deaf), many);
    await t.agent(many);
    await post(`${base}/other`, quick);
    await t.agent(quick);
    await dispatcherOf(t.legate.platform).run();
    expect(await waiting()).toBe(10);
    await until(() => ids.get('/other')?.length === 1);
    await deliverAll();
  });
});
