import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { channelOf } from './list-tools.ts';
import { Peer } from './peer.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

it('a connection over HTTP leaves nothing of a finished request, and ends the ones in progress with itself', async () => {
  let hanging = 0;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { id, method } = JSON.parse(body);
    if (method !== 'hang') return void res.writeHead(200).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    hanging++;
    res.once('close', () => hanging--);
  };
  const http = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const [server] = parseServers({ mcpServers: { x: { url } } }, {});
  const fetched = vi.spyOn(globalThis, 'fetch');
  onTestFinished(() => fetched.mockRestore());

  const peer = new Peer(channelOf(server as GatewayServer));
  for (let n = 0; n < 50; n++) expect(await peer.request('ping', {}, { timeoutMs: 10_000 })).toEqual({ result: {} });
  // A request adds a listener to its signal, which stays until the garbage collector runs.
  const signals = new Set(fetched.mock.calls.map(([, init]) => init?.signal));
  expect(signals.size).toBe(50);

  const waiting = expect(peer.request('hang', {}, { timeoutMs: 10_000 })).rejects.toThrow('it was closed');
  await vi.waitUntil(() => hanging === 1);
  await peer.close();
  await waiting;
  await vi.waitUntil(() => hanging === 0);
});
