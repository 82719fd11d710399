import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

it('calls are counted by server and outcome, with their duration', async () => {
  const config = { gateway: { servers: { away: { command: '/nowhere/x' } } } };
  const t = await createTestService({ config });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:away:x', actions: ['execute'] }] });
  const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
  for (const name of ['x', 'x', 'refused']) await t.call('POST', '/gateway/away/mcp', { as: agent, body: call(name) });
  const { text } = await t.call('GET', '/metrics', { as: await t.admin() });
  expect(text.match(/^legate_gateway_calls_total.*$/gm)).toEqual([
    'legate_gateway_calls_total{server="away",outcome="unavailable"} 2',
  ]);
  expect(text).toContain('legate_gateway_call_duration_seconds_bucket{server="away",le="+Inf"} 2\n');
  expect(text).toContain('legate_gateway_processes 0\n');
});
