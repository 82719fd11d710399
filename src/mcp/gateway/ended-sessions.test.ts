import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { permittedLists } from './lists/permitted-lists.ts';

const SERVER = `
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' },
    capabilities: { tools: {} } }),
  'tools/list': () => ({ tools: [] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.();
  if (result) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

it('a stream that begins while its session is ended is not opened', async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-ended-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const config = { gateway: { servers: { notes: { command: process.execPath, args: [script] } } } };
  const t = await createTestService({ config });
  const as = await t.agent(await t.user());
  const send = (method: 'POST' | 'GET' | 'DELETE', session?: string, body?: object): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${as.token}`,
      accept: 'application/json, text/event-stream',
      ...(body && { 'content-type': 'application/json' }),
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    const at = `${t.legate.platform.baseUrl}/gateway/notes/mcp`;
    const request = new Request(at, { method, headers, body: body ? JSON.stringify(body) : null });
    return t.legate.fetch(request, { remoteAddress: '127.0.0.1' });
  };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const opened = await send('POST', undefined, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const session = opened.headers.get('mcp-session-id') as string;

  const lists = t.legate.platform.stateOf(permittedLists);
  const read = lists.opened.bind(lists);
  const spy = vi.spyOn(lists, 'opened').mockImplementation(async (agent) => {
    await read(agent);
    expect((await send('DELETE', session)).status).toBe(204);
  });
  onTestFinished(() => spy.mockRestore());
  const stream = await send('GET', session);
  expect(spy).toHaveBeenCalledOnce();
  expect(stream.status).toBe(404);
  expect(await stream.json()).toMatchObject({ error: { message: 'Session not found' } });
});
