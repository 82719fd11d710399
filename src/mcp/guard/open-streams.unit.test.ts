import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterEach, describe, expect, it } from 'vitest';
import { expressMcp, type GuardingLegate, protectMcp, type TokenValidation } from './protect.ts';

/** The tokens that are currently valid, by agent. */
let holding: Map<string, string>;
const legate = (): GuardingLegate => ({
  platform: { issuer: 'https://legate.example', audience: 'https://legate.example' },
  mcp: {
    validateToken: async (token): Promise<TokenValidation> => {
      const agentId = holding.get(token);
      return agentId === undefined
        ? { valid: false }
        : {
            valid: true,
            agentId,
            ...(token.startsWith('x') && { actorId: 'agt_x' }),
            userId: 'usr_1',
            scopes: ['mcp:execute'],
            expiresAt: new Date('2031-01-01'),
          };
    },
  },
  authorize: async () => ({ allowed: true }),
});

/** Everything that the server writes to its open streams. */
let streams: ((event: string) => void)[] = [];
const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

const HEADERS = { 'content-type': 'text/event-stream', 'mcp-session-id': 'session-1' };
const faces: Readonly<Record<string, (endpoint: string) => RequestListener>> = {
  'Request and Response': (endpoint) => {
    const guarded = protectMcp(
      () => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            streams.push((event) => controller.enqueue(new TextEncoder().encode(event)));
          },
        });
        return new Response(body, { headers: HEADERS });
      },
      { legate: legate(), server: { name: 'notes', endpoint }, decisions: false },
    );
    const listener = getRequestListener(guarded, { overrideGlobalObjects: false });
    return (req, res) => void listener(req, res);
  },
  "Node's own": (endpoint) => {
    const guard = expressMcp({ legate: legate(), server: { name: 'notes', endpoint } });
    return (req: IncomingMessage, res: ServerResponse) =>
      guard(req, res, () => {
        res.writeHead(200, HEADERS).flushHeaders();
        streams.push((event) => void res.write(event));
      });
  },
};

async function start(face: (endpoint: string) => RequestListener): Promise<string> {
  holding = new Map([
    ['a', 'agt_a'],
    ['a2', 'agt_a'],
    ['b', 'agt_b'],
    // An exchanged token: another agent acts by a delegation from the first one.
    ['x', 'agt_a'],
  ]);
  streams = [];
  let handle: RequestListener | undefined;
  const server = createServer((req, res) => handle?.(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  handle = face(endpoint);
  return endpoint;
}
const open = (endpoint: string, token: string, session?: string): Promise<Response> =>
  fetch(endpoint, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
  });

describe.each(Object.entries(faces))('over %s', (_name, face) => {
  it('an open stream ends before its next event once its token is invalid; others continue', async () => {
    const endpoint = await start(face);
    const [first, second] = [await open(endpoint, 'a'), await open(endpoint, 'b')];
    const readers = [first, second].map((response) => (response.body as ReadableStream<Uint8Array>).getReader());
    const read = async (i: number): Promise<string | undefined> => {
      const { done, value } = await (readers[i] as ReadableStreamDefaultReader<Uint8Array>).read();
      return done ? undefined : new TextDecoder().decode(value);
    };
    for (const write of streams) write('data: {"n":1}\n\n');
    expect([await read(0), await read(1)]).toEqual(['data: {"n":1}\n\n', 'data: {"n":1}\n\n']);
    holding.delete('a');
    for (const write of streams) write('data: {"secret":1}\n\n');
    expect([await read(0), await read(1)]).toEqual([undefined, 'data: {"secret":1}\n\n']);
    expect((await open(endpoint, 'a')).status).toBe(401);
    await readers[1]?.cancel();
  });

  it('only the agent that opened a session finds it, also with its next token', async () => {
    const endpoint = await start(face);
    const mine = await open(endpoint, 'a');
    expect(mine.headers.get('mcp-session-id')).toBe('session-1');
    const others = await open(endpoint, 'b', 'session-1');
    expect(others.status).toBe(404);
    const notFound = { code: -32001, message: 'Session not found' };
    expect(await others.json()).toEqual({ jsonrpc: '2.0', id: null, error: notFound });
    const delegate = await open(endpoint, 'x', 'session-1');
    expect(delegate.status).toBe(404);
    const again = await open(endpoint, 'a2', 'session-1');
    const unknown = await open(endpoint, 'b', 'session-2');
    expect([again.status, unknown.status]).toEqual([200, 200]);
    for (const response of [mine, again, unknown]) await response.body?.cancel();
  });
});
