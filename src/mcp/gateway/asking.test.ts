import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { gatewayServers } from './gateway.ts';

/**
 * A server over stdio. Its tool `ask` sends the request in its arguments, and returns the answer and the requests that
 * were cancelled. It numbers its requests from 1.
 */
const SERVER = `
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const waiting = new Map();
const cancelled = [];
let declared, lastToken, lastId = 0;
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const calls = {
  ask: async ({ method, params, times = 1 }) => {
    const answers = [];
    for (let n = 0; n < times; n++) {
      const id = ++lastId;
      answers.push(new Promise((resolve) => waiting.set(id, resolve)));
      out({ id, method, params });
    }
    const [first, ...others] = await Promise.all(answers);
    return text(times === 1 ? first : [first, ...others]);
  },
  hang: () => new Promise(() => {}),
  report: () => {
    out({ method: 'notifications/progress', params: { progressToken: lastToken, progress: 1 } });
    return text('reported');
  },
  state: () => text({ declared, cancelled: cancelled.length }),
};
const methods = {
  initialize: ({ capabilities }) => {
    declared = capabilities;
    return { protocolVersion: '2025-11-25', serverInfo: { name: 'asker', version: '1' }, capabilities: { tools: {} } };
  },
  'tools/list': () => ({ tools: Object.keys(calls).map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': (params) => {
    lastToken = params._meta?.progressToken ?? lastToken;
    return calls[params.name](params.arguments);
  },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.({ result, error });
  if (method === 'notifications/cancelled') cancelled.push(params.requestId);
  if (id !== undefined) out({ id, result: await methods[method]?.(params) });
});`;

const NEVER = { resource: 'mcp:asker:*', actions: ['execute'], constraints: { maxCallsPerHour: 0 } };
const FORM = { message: 'Which account?', requestedSchema: { type: 'object', properties: {} } };
const ELICIT = { method: 'elicitation/create', params: FORM };
const ACCEPTED = { action: 'accept', content: { account: 'a' } };

let t: TestService;
let owner: TestUser;

beforeAll(async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-gateway-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const asker = { command: process.execPath, args: [script] };
  t = await createTestService({
    lasting: true,
    config: {
      gateway: {
        servers: {
          asker,
          open: { ...asker, legate: { sampling: true, roots: true } },
          shared: { ...asker, legate: { isolation: 'shared' } },
        },
      },
    },
  });
  owner = await t.user();
});

const newAgent = async (of = owner): Promise<TestAgent> =>
  t.agent(of, {
    permissions: ['asker', 'open', 'shared'].map((name) => ({ resource: `mcp:${name}:*`, actions: ['execute'] })),
  });
const endpoint = (server = 'asker'): URL => new URL(`${t.legate.platform.baseUrl}/gateway/${server}/mcp`);
const transport = (as: TestAgent) => ({
  requestInit: { headers: { authorization: `Bearer ${as.token}` } },
  fetch: (url: string | URL, init?: RequestInit) =>
    t.legate.fetch(new Request(url, init), { remoteAddress: '127.0.0.1' }),
});
const textOf = (result: unknown): Json => JSON.parse((result as Json).content[0].text);
const call = (name: string, args: Json = {}): Json => ({ name, arguments: args });
const rawClient = (as: TestAgent, server = 'asker'): RawClient => new RawClient(t, as, server);
const send = async (as: TestAgent, body: Json, server = 'asker'): Promise<Json> =>
  (await t.call('POST', `/gateway/${server}/mcp`, { as, body, headers: mcpHeaders(body) })).body;

describe('a server that sends requests during a call', () => {
  it('2025-11-25: reaches the client on the response to its call', async () => {
    const client = new Client({ name: 'x', version: '1' }, { capabilities: { elicitation: {} } });
    const asked: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      return { action: 'accept', content: { account: 'a' } };
    });
    await client.connect(new StreamableHTTPClientTransport(endpoint(), transport(await newAgent())) as never);
    expect(textOf(await client.callTool(call('ask', ELICIT)))).toEqual({ result: ACCEPTED });
    expect(asked).toEqual([expect.objectContaining(FORM)]);
    await client.close();
  });

  it('2026-07-28: reaches the client by the answer to its call, as often as it asks', async () => {
    const client = new v2.Client(
      { name: 'x', version: '1' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } },
    );
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { account: 'a' } }));
    await client.connect(new v2.StreamableHTTPClientTransport(endpoint(), transport(await newAgent())));
    const both = await client.callTool(call('ask', { ...ELICIT, times: 2 }));
    expect(textOf(both)).toEqual([{ result: ACCEPTED }, { result: ACCEPTED }]);
    await client.close();
  });

  it("2026-07-28: a waiting call's state works once, for its caller and call; one decision is recorded", async () => {
    const agent = await newAgent();
    const ask = (more: Json = {}): Json =>
      modern('tools/call', { ...call('ask', ELICIT), ...more }, { elicitation: {} });
    const { result } = await send(agent, ask());
    expect(result).toEqual({
      resultType: 'input_required',
      inputRequests: { 'input-1': { method: 'elicitation/create', params: FORM } },
      requestState: expect.any(String),
    });
    const { requestState } = result;
    const invalid = { error: { code: -32602, message: expect.stringContaining('requestState') } };
    const last = requestState.at(-6) === 'A' ? 'B' : 'A';
    expect(
      await send(agent, ask({ requestState: requestState.slice(0, -6) + last + requestState.slice(-5) })),
    ).toMatchObject(invalid);
    expect(await send(await newAgent(), ask({ requestState }))).toMatchObject(invalid);
    expect(await send(agent, ask({ requestState }), 'open')).toMatchObject(invalid);
    expect(await send(agent, ask({ requestState, arguments: {} }))).toMatchObject(invalid);
    const repeated = ask({ requestState, inputResponses: { 'input-1': ACCEPTED } });
    expect(textOf((await send(agent, repeated)).result)).toEqual({ result: ACCEPTED });
    expect(await send(agent, repeated)).toMatchObject(invalid);
    const { body } = await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner });
    expect(body).toEqual([expect.objectContaining({ resource: 'mcp:asker:ask', result: 'allowed' })]);
  });

  it('2025-11-25: a call with the state of a waiting call is a new one, which is decided', async () => {
    const person = await t.user();
    const agent = await newAgent(person);
    const asked = modern('tools/call', call('ask', ELICIT), { elicitation: {} });
    const { requestState } = (await send(agent, asked)).result;
    const client = await rawClient(agent).open();
    await t.call('PATCH', `/agents/${agent.id}`, { as: person, body: { permissions: [NEVER] } });
    const repeated = await client.call('ask', ELICIT, { requestState });
    expect((await repeated.next()).result).toMatchObject({ isError: true, _meta: { reason: 'RATE_LIMITED' } });
  });

  it('progress of a call that waits for input leaves no open stream', async () => {
    const person = await t.user();
    const [agent, other] = [await newAgent(person), await newAgent(person)];
    const body = modern('tools/call', call('ask', ELICIT), { elicitation: {} });
    body.params._meta.progressToken = 'mine';
    const headers = { accept: 'application/json, text/event-stream', ...mcpHeaders(body) };
    const { result } = (await t.call('POST', '/gateway/asker/mcp', { as: agent, body, headers })).body;
    expect(result.resultType).toBe('input_required');
    expect(textOf((await send(other, modern('tools/call', call('report')))).result)).toBe('reported');
    const relay = t.legate.platform.stateOf(gatewayServers).get('asker');
    await relay?.upstreams.endPerson(person.id);
    expect(relay?.people()).not.toContain(person.id);
  });

  it('a call that waits for input ends when its permission does', async () => {
    const agent = await newAgent();
    const ask = (more: Json = {}): Json =>
      modern('tools/call', { ...call('ask', ELICIT), ...more }, { elicitation: {} });
    const { requestState } = (await send(agent, ask())).result;
    await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } });
    const repeated = ask({ requestState, inputResponses: { 'input-1': ACCEPTED } });
    const { isError, _meta } = (await send(agent, repeated)).result;
    expect([isError, _meta.reason]).toEqual([true, 'NO_PERMISSION']);
    const { body } = await t.call('GET', `/audit/${_meta.auditId}`, { as: owner });
    expect([body.agentId, body.result, body.parameters]).toEqual([agent.id, 'denied', ELICIT]);
  });

  it.each<[string, (agent: TestAgent, repeat: () => Promise<Json>) => Promise<unknown>]>([
    ['its agent is revoked', (agent) => t.call('DELETE', `/agents/${agent.id}`, { as: owner })],
    [
      'its permission ends',
      (agent) => t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } }),
    ],
    [
      'its repetition is refused',
      async (agent, repeat) => {
        await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } });
        await repeat();
      },
    ],
  ])('a call that waits for input is cancelled at the server when %s', async (_case, end) => {
    const [agent, other] = [await newAgent(), await newAgent()];
    const asked = modern('tools/call', call('ask', ELICIT), { elicitation: {} });
    const { requestState } = (await send(agent, asked)).result;
    const cancelled = async (): Promise<number> =>
      textOf((await send(other, modern('tools/call', call('state')))).result).cancelled;
    const before = await cancelled();
    const more = { requestState, inputResponses: { 'input-1': ACCEPTED } };
    await end(agent, () => send(agent, modern('tools/call', { ...call('ask', ELICIT), ...more }, { elicitation: {} })));
    await until(async () => (await cancelled()) > before);
    await t.legate.platform.background.idle();
    const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${agent.id}`, { as: owner });
    expect(body.map(({ data }: Json) => [data.tool, data.outcome])).toEqual([['ask', 'cancelled']]);
  });

  it.each([
    ['asker', 'sampling/createMessage', -32601],
    ['asker', 'roots/list', -32601],
    ['asker', 'tools/list', -32601],
    ['open', 'sampling/createMessage', undefined],
    ['open', 'roots/list', undefined],
  ])('%s may request %s: error %s', async (server, method, code) => {
    const client = await rawClient(await newAgent(), server).open();
    const { next, end } = await client.call('ask', { method, params: {} });
    const first = await next();
    if (code === undefined) {
      expect(first).toMatchObject({ method });
      expect((await client.post({ id: first.id, result: { fine: true } })).status).toBe(202);
      expect(textOf((await next()).result)).toEqual({ result: { fine: true } });
    } else expect(textOf(first.result).error.code).toBe(code);
    await end();
  });

  it('declares sampling and roots only where they are allowed', async () => {
    const declared = async (server: string): Promise<string[]> => {
      const client = await rawClient(await newAgent(), server).open();
      return Object.keys(textOf((await (await client.call('state')).next()).result).declared);
    };
    expect(await declared('asker')).toEqual(['elicitation']);
    expect(await declared('open')).toEqual(['elicitation', 'sampling', 'roots']);
  });

  it.each([
    ['a client that has not declared it', 'asker', {}],
    ['a client of a connection that several people share', 'shared', undefined],
  ])('never requests %s', async (_case, server, capabilities) => {
    const client = await rawClient(await newAgent(), server).open(capabilities);
    expect(textOf((await (await client.call('ask', ELICIT)).next()).result)).toMatchObject({ error: { code: -32600 } });
    const { result } = await send(await newAgent(), modern('tools/call', call('ask', ELICIT), {}));
    expect(textOf(result)).toMatchObject({ error: { code: -32600 } });
  });

  it('sends no request to clients during a call of another on the same process, and at most ten to one', async () => {
    const person = await t.user();
    const [a, b] = [await rawClient(await newAgent(person)).open(), await rawClient(await newAgent(person)).open()];
    const asked = await a.call('ask', ELICIT);
    const { id } = await asked.next();
    expect(textOf((await (await b.call('ask', ELICIT)).next()).result)).toMatchObject({ error: { code: -32600 } });
    await b.post({ id, result: { of: 'another client' } });
    await a.post({ id, result: ACCEPTED });
    expect(textOf((await asked.next()).result)).toEqual({ result: ACCEPTED });
    const flood = await a.call('ask', { ...ELICIT, times: 30 });
    const ids: string[] = [];
    for (let n = 0; n < 10; n++) ids.push((await flood.next()).id);
    for (const one of ids) await a.post({ id: one, result: ACCEPTED });
    const answers: Json[] = textOf((await flood.next()).result);
    expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(20);
  });

  it('2025-11-25: the call is cancelled instead of its request being answered when the agent is revoked', async () => {
    const person = await t.user();
    const agent = await newAgent(person);
    const client = await rawClient(agent).open();
    const stream = await client.listen();
    const asked = await client.call('ask', ELICIT);
    await asked.next();
    await t.call('DELETE', `/agents/${agent.id}`, { as: person });
    await stream.end();
    expect(await asked.next()).toMatchObject({ error: { code: 1403 } });
    await t.legate.platform.background.idle();
    const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${agent.id}`, { as: person });
    expect(body.map(({ data }: Json) => data.outcome)).toEqual(['cancelled']);
  });

  it('withdraws its request when the client cancels the call, and notifies the server', async () => {
    const client = await rawClient(await newAgent(await t.user())).open();
    const asked = await client.call('ask', ELICIT);
    const { id } = await asked.next();
    await client.post({ method: 'notifications/cancelled', params: { requestId: 1 } });
    const withdrawn = { method: 'notifications/cancelled', params: { requestId: id } };
    expect(await asked.next()).toMatchObject(withdrawn);
    expect(textOf((await (await client.call('state')).next()).result)).toMatchObject({ cancelled: 1 });
  });
});
