import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { Ending } from './ending.ts';
import { channelOf } from './list-tools.ts';
import { OutcomeUnknown, Peer, ServerUnavailable } from './peer.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

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
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
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

describe('an answer over HTTP', () => {
  const peerTo = async (listener: RequestListener): Promise<Peer> => {
    const http = createServer(listener);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void http.close());
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const [server] = parseServers({ mcpServers: { x: { url, legate: { limits: { resultBytes: 1024 } } } } }, {});
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
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
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
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
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
