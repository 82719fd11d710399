import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { getRequestListener } from '@hono/node-server';
import { afterEach, describe, expect, it } from 'vitest';
import { guardingLegate } from '../../../test/support/guarding-legate.ts';
import { expressMcp, type ProtectMcpOptions, protectMcp } from './protect.ts';

/** An agent with a token that is always valid. It may not call `delete`, and nothing can be decided about `unknown`. */
const legate = guardingLegate(['mcp:execute'], async ({ resource }) => {
  if (resource.endsWith(':unknown')) throw Object.assign(new Error('no decision'), { status: 503 });
  return resource.endsWith(':delete') ? { allowed: false, reason: 'NO_PERMISSION' } : { allowed: true };
});

/** Writes a response in pieces. The test decides when each piece is sent. */
type Answer = (write: (piece: string | Uint8Array) => void) => Promise<void>;

const faces: Readonly<
  Record<string, (options: ProtectMcpOptions, headers: Record<string, string>, answer: Answer) => RequestListener>
> = {
  'Request and Response': (options, headers, answer) => {
    const guarded = protectMcp(() => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          void answer((piece) => controller.enqueue(Buffer.from(piece as string))).then(() => controller.close());
        },
      });
      return new Response(body, { headers });
    }, options);
    const listener = getRequestListener(guarded, { overrideGlobalObjects: false });
    return (req, res) => void listener(req, res);
  },
  "Node's own": (options, headers, answer) => {
    const guard = expressMcp(options);
    return (req: IncomingMessage, res: ServerResponse) =>
      guard(req, res, () => {
        res.writeHead(200, headers);
        void answer((piece) => void res.write(piece)).then(() => res.end());
      });
  },
};

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(Object.entries(faces))('an answer over %s', (_name, face) => {
  async function ask(
    method: string,
    headers: Record<string, string>,
    answer: Answer,
    more: Record<string, unknown> = {},
  ): Promise<Response> {
    let handle: RequestListener | undefined;
    const server = createServer((req, res) => handle?.(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push(() => {
      server.close();
      server.closeAllConnections();
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    handle = face({ legate, server: { name: 'notes', endpoint } }, headers, answer);
    return fetch(endpoint, {
      method: 'POST',
      headers: { authorization: 'Bearer x', ...JSON_TYPE },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { uri: 'a:b', name: 'search', ...more } }),
    });
  }

  it.each<[string, string, Record<string, unknown>?]>([
    ['resources/read', 'application/json'],
    ['subscriptions/listen', 'application/json'],
    ['tools/call', 'application/json'],
    ['tools/call', 'text/event-stream'],
    ['tools/call', 'application/x-ndjson'],
    // The guard parses it on the way, because it may name a task.
    ['tools/call', 'application/json', { task: {} }],
    ['tools/call', 'text/event-stream', { task: {} }],
  ])('to %s as %s reaches the client as it arrives', async (method, type, params) => {
    let goOn = (): void => {};
    const read = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const pieces: Answer = async (write) => {
      write('{"first":1,\n');
      await read;
      write('"last":1}\n\n');
    };
    const response = await ask(method, { 'content-type': type }, pieces, params);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    expect(new TextDecoder().decode(first.value)).toBe('{"first":1,\n');
    goOn();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('"last":1}\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  const list = (tools: object[]): string => JSON.stringify({ jsonrpc: '2.0', id: 7, result: { tools } });
  const tools = [
    { name: 'search', inputSchema: {} },
    { name: 'delete', inputSchema: {} },
  ];

  it.each<[string, Record<string, string>, string]>([
    ['JSON', JSON_TYPE, list(tools)],
    ['JSON with a byte order mark', JSON_TYPE, `\ufeff${list(tools)}`],
    ['a tool without a schema', JSON_TYPE, list([...tools, { name: 'delete' }])],
    ['an event', { 'content-type': 'text/event-stream' }, `data: ${list(tools)}\n\n`],
    ['an event with mixed line ends', { 'content-type': 'text/event-stream' }, `data: ${list(tools)}\n\r\ndata: 1\n\n`],
  ])('to tools/list is filtered, even in pieces: %s', async (_what, headers, text) => {
    const response = await ask('tools/list', headers, async (write) => {
      const half = text.length >> 1;
      write(text.slice(0, half));
      await new Promise((resolve) => setImmediate(resolve));
      write(text.slice(half));
    });
    const answer = await response.text();
    expect(answer).toContain('search');
    expect(answer).not.toContain('delete');
  });

  it.each<[string, string, string]>([
    ['JSON', 'application/json', list([{ name: 'unknown' }])],
    ['an event', 'text/event-stream', `data: ${list([{ name: 'unknown' }])}\n\n`],
  ])('to tools/list is an error if nothing can be decided at the moment: %s', async (_what, type, text) => {
    const response = await ask('tools/list', { 'content-type': type }, async (write) => write(text));
    const error = { code: 1502, message: 'The list cannot be cut for this caller at the moment.' };
    expect(JSON.parse((await response.text()).replace('data: ', ''))).toEqual({ jsonrpc: '2.0', id: 7, error });
  });

  it('to tools/list is an error if it cannot be read: compressed, or larger than the buffer', async () => {
    const compressed = await ask('tools/list', { ...JSON_TYPE, 'content-encoding': 'gzip' }, async (write) =>
      write(gzipSync(list(tools))),
    );
    expect(await compressed.json()).toMatchObject({
      id: 7,
      error: { code: 1502, message: expect.stringContaining('compressed') },
    });
    const large = await ask('tools/list', JSON_TYPE, async (write) => {
      const piece = ' '.repeat(1024 * 1024);
      for (let i = 0; i < 17; i++) write(piece);
    });
    expect(await large.json()).toMatchObject({
      id: 7,
      error: { code: 1502, message: expect.stringContaining('too large') },
    });
  });
});

it("through node:http: a server that waits for 'drain' is paused by a client that does not read", async () => {
  const PIECE = Buffer.alloc(1024 * 1024, 0x20);
  const PIECES = 64;
  let written = 0;
  let stalled = (): void => {};
  const isStalled = new Promise<void>((resolve) => {
    stalled = resolve;
  });
  const app = (_req: IncomingMessage, res: ServerResponse): void => {
    res.writeHead(200, JSON_TYPE);
    const writeMore = (): void => {
      while (written < PIECES) {
        written++;
        if (!res.write(PIECE)) {
          stalled();
          return;
        }
      }
      stalled();
      res.end();
    };
    res.on('drain', writeMore);
    writeMore();
  };
  let guard: ReturnType<typeof expressMcp> | undefined;
  const server = createServer((req, res) => guard?.(req, res, () => app(req, res)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  guard = expressMcp({ legate, server: { name: 'notes', endpoint } });
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: 'Bearer x', ...JSON_TYPE },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'resources/read', params: { uri: 'a:b' } }),
  });
  await isStalled;
  expect(written).toBeLessThan(PIECES);
  expect((await response.arrayBuffer()).byteLength).toBe(PIECES * PIECE.byteLength);
  expect(written).toBe(PIECES);
});
