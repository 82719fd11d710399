import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

const RESULTS: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } },
  'tools/list': { tools: [{ name: 'hang', inputSchema: { type: 'object' } }] },
};

it('a server that answers neither calls nor their cancellation does not keep their connections', async () => {
  const hanging = new Set<ServerResponse>();
  let seen = 0;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const { id, method } = (await json(req)) as { id?: number; method: string };
    if (method === 'notifications/initialized') return res.writeHead(202).end();
    if (RESULTS[method])
      return res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] }));
    seen++;
    hanging.add(res);
    return res.once('close', () => hanging.delete(res));
  };
  const http = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const servers = { hole: { url, legate: { limits: { callSeconds: 1 } } } };
  const t = await createTestService({ config: { gateway: { servers } } });
  const as = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:*', actions: ['execute'] }] });
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hang', arguments: {} } };
  const { result } = (await t.call('POST', '/gateway/hole/mcp', { as, body })).body as Json;
  expect(result).toMatchObject({ isError: true, _meta: { reason: 'TIMEOUT' } });
  await until(() => seen === 2 && hanging.size === 0);
});
