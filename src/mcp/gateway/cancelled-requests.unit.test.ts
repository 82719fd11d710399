import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { Ending } from './ending.ts';
import { openHttp } from './http-server.ts';
import { Peer } from './peer.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

/**
 * A server over HTTP, or over HTTP with SSE, that refuses the token `old`. The test decides when another token has been
 * obtained.
 */
async function renewing(type: 'http' | 'sse') {
  const received: string[] = [];
  let event = (_message: object): void => {};
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    if (req.method === 'GET' && type === 'http') return res.writeHead(405).end();
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n');
      event = (message) => res.write(`data: ${JSON.stringify(message)}\n\n`);
      return undefined;
    }
    const { id, method } = (await json(req)) as { id?: number; method: string };
    if (req.headers.authorization !== 'Bearer new' && method !== 'ping') return res.writeHead(401).end();
    received.push(method);
    const reply = { jsonrpc: '2.0', id, result: {} };
    if (type === 'sse' && id !== undefined) event(reply);
    if (type === 'sse' || id === undefined) return res.writeHead(202).end();
    return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  };
  const http = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const [server] = parseServers({ mcpServers: { x: { url, type } } }, {});
  let token = 'old';
  const renewals: (() => void)[] = [];
  const renewed = (): Promise<string> =>
    new Promise((resolve) => {
      renewals.push(() => {
        token = 'new';
        resolve(token);
      });
    });
  const state = { isExpired: false };
  const peer = new Peer(
    openHttp(server as GatewayServer, url, {
      bearer: async (refused) => (refused === token || state.isExpired ? renewed() : token),
      refused: () => new Error('refused'),
      insufficient: async () => new Error('insufficient'),
    }),
  );
  onTestFinished(() => peer.close());
  return { peer, received, renewals, state };
}

describe.each([
  ['2026-07-28', 'http'],
  ['2025-11-25', 'http'],
  ['2024-11-05', 'sse'],
] as const)('a request to a server of %s that is cancelled while its token is renewed', (revision, type) => {
  it.each([
    ['before it was sent', true],
    ['after the server has refused the old one', false],
  ])('is not sent afterwards: %s', async (_when, isExpired) => {
    const { peer, received, renewals, state } = await renewing(type);
    if (revision === '2026-07-28') peer.envelope = { 'io.modelcontextprotocol/protocolVersion': revision };
    // Opens the connection.
    await peer.request('ping', {}, { timeoutMs: 10_000 });
    state.isExpired = isExpired;
    const signal = new Ending();
    const call = peer.request('tools/call', { name: 'x' }, { timeoutMs: 10_000, signal });
    await until(() => renewals.length === 1);
    signal.end();
    await expect(call).rejects.toThrow('it was cancelled');
    state.isExpired = false;
    for (let renewal = renewals.shift(); renewal; renewal = renewals.shift()) renewal();
    const after = peer.request('resources/list', {}, { timeoutMs: 10_000 });
    await until(() => {
      for (let renewal = renewals.shift(); renewal; renewal = renewals.shift()) renewal();
      return received.includes('resources/list');
    });
    await after;
    expect(received).not.toContain('tools/call');
  });
});
