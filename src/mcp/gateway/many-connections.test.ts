import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';
import { gatewayServers } from './gateway.ts';

/** A server over stdio with one tool. */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } },
  'tools/list': { tools: [{ name: 'own', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }) + '\\n');
});`;

it("an open connection's own tools count, also after its list was forgotten for those of others", async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-many-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const servers = { notes: { command: process.execPath, args: [script] } };
  const t = await createTestService({ lasting: true, config: { gateway: { servers } } });
  const permissions = [{ resource: 'mcp:notes:*', actions: ['execute'] }];
  const as = await t.agent(await t.user(), { permissions });
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'own', arguments: {} } };
  const text = async (): Promise<Json> =>
    (await t.call('POST', '/gateway/notes/mcp', { as, body })).body.result.content[0].text;
  expect(await text()).toBe('done');
  const definitions = t.legate.platform.stateOf(gatewayServers).get('notes')?.tools.definitions;
  const tools = Array.from({ length: 500 }, (_, n) => ({ name: `tool-${n}` }));
  for (let n = 0; n < 1000; n++) definitions?.set(`other-${n}`, tools);
  expect(definitions?.listedOn('other-0')).toEqual([]);
  expect(await text()).toBe('done');
});
