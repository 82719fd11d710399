import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import * as sdk from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { createTestService, type Json, type TestAgent, type TestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

let paid = 0;

/** A server of 2026-07-28 whose tool asks the user before it pays. */
const { fetch: bank } = sdk.createMcpHandler(
  () => {
    const server = new sdk.McpServer({ name: 'bank', version: '1' });
    const sure = sdk.inputRequired.elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } });
    server.registerTool('pay', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
      if (!mcpReq.inputResponses) return sdk.inputRequired({ inputRequests: { sure } });
      return { content: [{ type: 'text', text: `payment ${++paid}` }] };
    });
    return server;
  },
  { legacy: 'reject' },
);
const listener = getRequestListener((request) => bank(request), { overrideGlobalObjects: false });
const upstream = createServer((req, res) => void listener(req, res));

beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

/** Starts a service, or another instance of it, with the same root secret. */
const start = (sameDatabaseAs?: TestService): Promise<TestService> => {
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const config = { secret: 'ab'.repeat(32), gateway: { servers: { bank: { url } } } };
  return createTestService({ config, ...(sameDatabaseAs && { sameDatabaseAs }) });
};

async function scene() {
  const t = await start();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'mcp:bank:pay', actions: ['execute'] }] });
  const pay = async (more: Json = {}, on = t): Promise<Json> => {
    const body = modern('tools/call', { name: 'pay', arguments: {}, ...more }, { elicitation: {} });
    return (await on.call('POST', '/gateway/bank/mcp', { as: agent, body, headers: mcpHeaders(body) })).body.result;
  };
  const outcomes = async (): Promise<Json[]> => {
    await t.legate.platform.background.idle();
    const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${agent.id}`, { as: owner });
    return body.map(({ data }: Json) => data);
  };
  return { t, owner, agent, pay, outcomes };
}
const ACCEPTED = { inputResponses: { sure: { action: 'accept', content: {} } } };

it('a repetition with the input is carried out once, on the instance that asked', async () => {
  const { t, pay, outcomes } = await scene();
  const other = await start(t);
  const { requestState } = await pay();
  const repeated = { requestState, ...ACCEPTED };
  const before = paid;
  expect(await pay(repeated, other)).toMatchObject({ isError: true, _meta: { reason: 'OUTCOME_UNKNOWN' } });
  expect(await pay(repeated)).toMatchObject({ content: [{ text: `payment ${before + 1}` }] });
  expect(paid).toBe(before + 1);
  expect(await outcomes()).toMatchObject([{ tool: 'pay', outcome: 'ok' }]);
});

it.each<[string, (t: TestService, owner: { token: string }, agent: TestAgent) => Promise<unknown>]>([
  ['agent is revoked', (t, owner, agent) => t.call('DELETE', `/agents/${agent.id}`, { as: owner })],
  [
    'repetition is refused',
    (t, owner, agent) => t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } }),
  ],
])('a call that waits for input has an outcome if its %s', async (_case, end) => {
  const { t, owner, agent, pay, outcomes } = await scene();
  const { requestState } = await pay();
  await end(t, owner, agent);
  await pay({ requestState, ...ACCEPTED });
  await until(async () => (await outcomes()).length > 0);
  const [decision] = (await t.call('GET', `/audit?agentId=${agent.id}&result=allowed`, { as: owner })).body;
  expect(await outcomes()).toMatchObject([
    { outcome: 'protocol_error', auditId: decision.id, definition: expect.any(String) },
  ]);
});
