import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { Ending } from './ending.ts';
import { openHttp } from './http-server.ts';
import { channelOf } from './list-tools.ts';
import { OutcomeUnknown, Peer, ServerUnavailable } from './peer.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

/** Starts a server for this test and returns its address. */
async function urlOf(http: Server): Promise<string> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

it('requests over HTTP share a connection to the server, and requests in progress end with the channel', async () => {
  let hanging = 0;
  let connections = 0;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { id, method } = JSON.parse(body);
    if (method !== 'hang') return void res.writeHead(200).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    hanging++;
    res.once('close', () => hanging--);
  };
  const http = createServer((req, res) => void answer(req, res));
  http.on('connection', () => connections++);
  const url = await urlOf(http);
  const [server] = parseServers({ mcpServers: { x: { url } } }, {});

  const peer = new Peer(channelOf(server as GatewayServer));
  for (let n = 0; n < 50; n++) expect(await peer.request('ping', {}, { timeoutMs: 10_000 })).toEqual({ result: {} });
  expect(connections).toBe(1);

  const waiting = expect(peer.request('hang', {}, { timeoutMs: 10_000 })).rejects.toThrow('it was closed');
  await until(() => hanging === 1);
  await peer.close();
  await waiting;
  await until(() => hanging === 0);
});

it('the end of a channel does not wait longer than 2 s for a token with which the session could be ended', async () => {
  const sessions = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }));
  });
  const url = await urlOf(sessions);
  const [server] = parseServers({ mcpServers: { x: { url } } }, {});
  let bearer = async (): Promise<string> => 'token';
  const refused = () => new ServerUnavailable('refused');
  const access = { bearer: () => bearer(), refused, insufficient: async () => refused() };
  const peer = new Peer(openHttp(server as GatewayServer, url, access));
  await peer.request('ping', {}, { timeoutMs: 10_000 });
  bearer = () => new Promise(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const closing = peer.close();
  await vi.advanceTimersByTimeAsync(2000);
  vi.useRealTimers();
  const hasClosed = closing.then(() => 'closed');
  expect(await Promise.race([hasClosed, new Promise((resolve) => setTimeout(resolve, 1000))])).toBe('closed');
});

describe('an answer over HTTP', () => {
  const peerTo = async (listener: RequestListener, resultBytes = 1024): Promise<Peer> => {
    const http = createServer(listener);
    const url = await urlOf(http);
    const [server] = parseServers({ mcpServers: { x: { url, legate: { limits: { resultBytes } } } } }, {});
    const peer = new Peer(channelOf(server as GatewayServer));
    onTestFinished(() => peer.close());
    return peer;
  };
  const text = (answer: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer });
  const ask = (peer: Peer) => peer.request('ping', {}, { timeoutMs: 10_000 });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('may be compressed with %s, although it was not requested', async (encoding, compress) => {
    const peer = await peerTo((_, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
      res.end(compress(text({ grüße: 'ß' })));
    });
    expect(await ask(peer)).toEqual({ result: { grüße: 'ß' } });
  });

  it('is limited in length after it was decompressed', async () => {
    const peer = await peerTo((_, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text({ filler: 'x'.repeat(1_000_000) })));
    });
    await expect(ask(peer)).rejects.toThrow('its answer is too long');
  });

  it('may follow some informational responses; without an end of them, the outcome is unknown', async () => {
    const some = await peerTo((_, res) => {
      for (let n = 0; n < 100; n++) res.writeProcessing();
      res.end(text({}));
    });
    expect(await ask(some)).toEqual({ result: {} });
    const endless = await peerTo((req) => {
      const { socket } = req;
      const write = (): void => {
        while (!socket.destroyed && socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000)));
      };
      socket.on('drain', write).on('error', () => {});
      write();
    });
    await expect(ask(endless)).rejects.toThrow(OutcomeUnknown);
  });

  it('that is incomplete leaves the outcome unknown; after a refused connection nothing was sent', async () => {
    const peer = await peerTo((_, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      res.write('{"jsonrpc"', () => res.destroy());
    });
    await expect(ask(peer)).rejects.toThrow(OutcomeUnknown);
    const [nowhere] = parseServers({ mcpServers: { x: { url: 'http://127.0.0.1:1' } } }, {});
    const none = new Peer(channelOf(nowhere as GatewayServer));
    await expect(ask(none)).rejects.toThrow(ServerUnavailable);
    await none.close();
  });

  it.each([
    ['empty lines', '\n\n\n\n'],
    ['comments', ': still working\n\n'],
    ['events without a message', 'event: ping\ndata: now\r\n\r\n'],
  ])('that consists of %s leaves the outcome unknown after a megabyte', async (_what, nothing) => {
    let isClosed = false;
    const peer = await peerTo((req, res) => {
      res.once('close', () => {
        isClosed = true;
      });
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = (): void => {
        while (res.write(nothing.repeat(1000)));
      };
      res.on('drain', more);
      req.once('end', more).resume();
    }, 10_000_000);
    await expect(ask(peer)).rejects.toThrow(new OutcomeUnknown('it sent too much without a message'));
    await until(() => isClosed);
  });

  it('that refuses the request without JSON-RPC means that it did not run', async () => {
    const peer = await peerTo((_, res) => {
      res.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"insufficient_scope"}');
    });
    await expect(ask(peer)).rejects.toThrow('it answered with status 403');
    await expect(ask(peer)).rejects.toThrow(ServerUnavailable);
  });
});

it('waits for the stream of notifications before the first request, because servers drop earlier ones', async () => {
  const order: string[] = [];
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { id, method } = req.method === 'GET' ? { id: undefined, method: 'stream' } : JSON.parse(body);
    order.push(method);
    if (method === 'stream') {
      for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
      order.push('opened');
      return void res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    }
    if (id === undefined) return void res.writeHead(202).end();
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
  };
  const http = createServer((req, res) => void answer(req, res));
  const url = await urlOf(http);
  const [server] = parseServers({ mcpServers: { x: { url } } }, {});
  const peer = new Peer(channelOf(server as GatewayServer));
  await peer.request('initialize', {}, { timeoutMs: 10_000 });
  peer.notify('notifications/initialized', {});
  await peer.request('tools/list', {}, { timeoutMs: 10_000 });
  expect(order).toEqual(['initialize', 'notifications/initialized', 'stream', 'opened', 'tools/list']);
  await peer.close();
});

it('a request that is cancelled before it has a connection is never sent, and leaves no connection', async () => {
  const received: string[] = [];
  let connections = 0;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { id, method } = JSON.parse(body);
    received.push(method);
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
  };
  const http = createServer((req, res) => void answer(req, res));
  http.on('connection', (socket) => {
    connections++;
    socket.once('close', () => connections--);
  });
  const url = await urlOf(http);
  const [server] = parseServers({ mcpServers: { x: { url } } }, {});
  const peer = new Peer(channelOf(server as GatewayServer));
  // Since this revision, a request is cancelled by closing its connection.
  peer.envelope = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const cancelling = new Ending();
  const cancelled = expect(
    peer.request('tools/call', { name: 'x' }, { timeoutMs: 10_000, signal: cancelling }),
  ).rejects.toThrow('it was cancelled');
  const other = peer.request('ping', {}, { timeoutMs: 10_000 });
  cancelling.end();
  await cancelled;
  expect(await other).toEqual({ result: {} });
  await until(() => connections === 1);
  expect(received).toEqual(['ping']);
  await peer.close();
  await until(() => connections === 0);
});

it('leaves the connections of the global fetch alone', async () => {
  const [server] = parseServers({ mcpServers: { x: { url: 'http://127.0.0.1:1' } } }, {});
  await new Peer(channelOf(server as GatewayServer)).close();
  const { cache, resolve } = createRequire(import.meta.url);
  const isLoaded = (file: string): boolean => resolve(`undici/lib/${file}`) in cache;
  expect([isLoaded('dispatcher/client.js'), isLoaded('global.js')]).toEqual([true, false]);
});

describe('the streams of a server', () => {
  type Handler = (req: IncomingMessage, res: ServerResponse, message: { id?: number; method?: string }) => void;
  const initialized = async (handle: Handler, notified: (method: string) => void = () => {}): Promise<Peer> => {
    const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      let body = '';
      for await (const chunk of req) body += chunk;
      const message = body === '' ? {} : JSON.parse(body);
      if (message.method === 'initialize') {
        const result = { protocolVersion: '2025-11-25', capabilities: {} };
        res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' });
        return void res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
      }
      return handle(req, res, message);
    };
    const http = createServer((req, res) => void answer(req, res));
    const url = await urlOf(http);
    const [server] = parseServers({ mcpServers: { x: { url } } }, {});
    const peer = new Peer(channelOf(server as GatewayServer), { notified });
    onTestFinished(() => peer.close());
    await peer.request('initialize', {}, { timeoutMs: 10_000 });
    return peer;
  };
  const stream = (res: ServerResponse, events: string): ServerResponse => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(events);
    return res;
  };
  const data = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

  it.each(['closed by the server', 'broken'])('that answers a request goes on when it was %s', async (how) => {
    const received: unknown[] = [];
    let asked: number | undefined;
    const peer = await initialized((req, res, { id, method }) => {
      const at = req.headers['last-event-id'];
      received.push(method ?? `after ${at}`);
      if (method) {
        asked = id;
        const first = stream(res, 'id: one\nretry: 1\ndata: \n\n');
        if (how === 'broken') setImmediate(() => first.destroy());
        else first.end();
      } else if (at === 'one') stream(res, 'id: two\ndata: \n\n').end();
      else if (received.length === 3) res.writeHead(503).end();
      else stream(res, data({ id: asked, result: { done: true } })).end();
    });
    expect(await peer.request('tools/call', { name: 'x' }, { timeoutMs: 10_000 })).toEqual({ result: { done: true } });
    expect(received).toEqual(['tools/call', 'after one', 'after two', 'after two']);
  });

  it.each([404, 405])('that cannot be resumed (%s) leaves the outcome of its request unknown', async (status) => {
    const peer = await initialized((_, res, { method }) => {
      if (method) stream(res, 'id: one\nretry: 1\ndata: \n\n').end();
      else res.writeHead(status).end();
    });
    await expect(peer.request('tools/call', { name: 'x' }, { timeoutMs: 10_000 })).rejects.toThrow(OutcomeUnknown);
  });

  it('that carries notifications is opened again after it ended, where it ended', async () => {
    const opened: unknown[] = [];
    const notified: string[] = [];
    const answer: Handler = (req, res, { id }) => {
      if (req.method !== 'GET') return void res.writeHead(id === undefined ? 202 : 200).end();
      const at = opened.push(req.headers['last-event-id']);
      const open = stream(res, `id: e${at}\nretry: 1\n${data({ method: `notifications/n${at}` })}`);
      if (at < 3) open.end();
    };
    const peer = await initialized(answer, (method) => notified.push(method));
    peer.notify('notifications/initialized');
    await until(() => notified.length === 3);
    expect(opened).toEqual([undefined, 'e1', 'e2']);
    expect(notified).toEqual(['notifications/n1', 'notifications/n2', 'notifications/n3']);
  });

  it('that carries notifications without ids may have lost that the tools have changed', async () => {
    let opened = 0;
    const notified: string[] = [];
    const answer: Handler = (req, res, { id }) => {
      if (req.method !== 'GET') return void res.writeHead(id === undefined ? 202 : 200).end();
      const open = stream(res, 'retry: 1\ndata: \n\n');
      if (++opened === 1) open.end();
    };
    const peer = await initialized(answer, (method) => notified.push(method));
    peer.notify('notifications/initialized');
    await until(() => notified.length === 1);
    expect(notified).toEqual(['notifications/tools/list_changed']);
  });

  it('ends with a request that was cancelled, although the server never answers it', async () => {
    const order: string[] = [];
    const peer = await initialized((req, res, { id, method }) => {
      if (req.method === 'DELETE') return void res.writeHead(200).end();
      order.push(String(method));
      if (id === undefined) return void res.writeHead(202).end();
      stream(res, 'data: \n\n').once('close', () => order.push('closed'));
    });
    const cancelling = new Ending();
    const call = peer.request('tools/call', { name: 'x' }, { timeoutMs: 10_000, signal: cancelling });
    await until(() => order.length === 1);
    cancelling.end();
    await expect(call).rejects.toThrow('it was cancelled');
    await until(() => order.length === 3);
    expect(order).toEqual(['tools/call', 'notifications/cancelled', 'closed']);
  });
});
