import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitationCompleteNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import type { Stream } from '../../../test/support/stream.ts';

/** A server over stdio whose tool returns the parameters that it received. */
const SERVER = `
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'bank', version: '1' }, capabilities:
    { tools: {} } }),
  'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: JSON.stringify(params) }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.(params, id);
  if (result) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;
const ABLE = { elicitation: { url: {} } };
const PAY = { name: 'pay', arguments: { to: 'acme', amount: 10 } };

let t: TestService;
let owner: TestUser;
let agent: TestAgent;

beforeAll(async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-gateway-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const bank = { command: process.execPath, args: [script] };
  t = await createTestService({ lasting: true, config: { gateway: { servers: { bank, other: bank } } } });
  owner = await t.user();
  agent = await newAgent();
});

const newAgent = (): Promise<TestAgent> =>
  t.agent(owner, {
    permissions: ['bank', 'other'].map((server) => ({
      resource: `mcp:${server}:pay`,
      actions: ['execute'],
      constraints: { requireApproval: true },
    })),
  });
const send = async (body: Json, { server = 'bank', as = agent } = {}): Promise<Json> =>
  (await t.call('POST', `/gateway/${server}/mcp`, { as, body, headers: mcpHeaders(body) })).body;
const pay = (more: Json = {}, capabilities: Json = ABLE): Json =>
  modern('tools/call', { ...PAY, ...more }, capabilities);
const idIn = (url: unknown): string => String(url).split('/').at(-1) as string;
const approve = async (url: unknown): Promise<void> => {
  expect((await t.call('POST', `/approvals/${idIn(url)}/approve`, { as: owner })).status).toBe(200);
};
/** Options for a transport of the SDK that reaches the service in this process. */
const transport = (as: TestAgent) => ({
  requestInit: { headers: { authorization: `Bearer ${as.token}` } },
  fetch: (url: string | URL, init?: RequestInit) =>
    t.legate.fetch(new Request(url, init), { remoteAddress: '127.0.0.1' }),
});
const endpoint = (): URL => new URL(`${t.legate.platform.baseUrl}/gateway/bank/mcp`);

describe('a call through the gateway that needs approval', () => {
  it('2026-07-28: the SDK shows the page and repeats the call, and the server sees only the call', async () => {
    const client = new v2.Client(
      { name: 'x', version: '1' },
      { capabilities: ABLE, versionNegotiation: { mode: 'auto' } },
    );
    const shown: Json[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params);
      await approve((params as Json).url);
      return { action: 'accept' };
    });
    await client.connect(new v2.StreamableHTTPClientTransport(endpoint(), transport(await newAgent())));
    const [content] = (await client.callTool(PAY)).content as unknown as [{ text: string }];
    expect(JSON.parse(content.text)).toEqual(PAY);
    expect(shown).toEqual([expect.objectContaining({ mode: 'url', message: expect.stringContaining('"pay"') })]);
    await client.close();
  });

  it('requestState is valid once, for one server, one agent and one call', async () => {
    const { result } = await send(pay());
    const { requestState } = result;
    await approve(result.inputRequests.approval.params.url);
    const invalid = { error: { code: -32602, message: expect.stringContaining('requestState') } };
    const last = requestState.at(-6) === 'A' ? 'B' : 'A';
    const edited = requestState.slice(0, -6) + last + requestState.slice(-5);
    expect(await send(pay({ requestState: edited }))).toMatchObject(invalid);
    expect(await send(pay({ requestState }), { server: 'other' })).toMatchObject(invalid);
    expect(await send(pay({ requestState }), { as: await newAgent() })).toMatchObject(invalid);
    expect(await send(pay({ requestState, arguments: { to: 'acme', amount: 11 } }))).toMatchObject(invalid);
    expect(await send(pay({ requestState }))).toMatchObject({ result: { content: [{ type: 'text' }] } });
    expect(await send(pay({ requestState }))).toMatchObject(invalid);
  });

  it('2025-11-25: the SDK gets -32042, then a notification after the approval', async () => {
    const client = new Client({ name: 'x', version: '1' }, { capabilities: ABLE });
    const completed = new Promise<string>((resolve) =>
      client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
        resolve(params.elicitationId),
      ),
    );
    await client.connect(new StreamableHTTPClientTransport(endpoint(), transport(await newAgent())) as never);
    const { code, data } = await client.callTool(PAY).then(
      () => ({}) as Json,
      (error: Json) => error,
    );
    expect([code, data.elicitations]).toEqual([
      -32042,
      [expect.objectContaining({ mode: 'url', elicitationId: idIn(data.elicitations[0].url) })],
    ]);
    await approve(data.elicitations[0].url);
    expect(await completed).toBe(data.elicitations[0].elicitationId);
    expect(await client.callTool(PAY)).toMatchObject({ content: [{ type: 'text' }] });
    await client.close();
  });

  it('2025-11-25: each session that got -32042 for the same approval gets the notification', async () => {
    const as = await newAgent();
    const clients = [new RawClient(t, as, 'bank'), new RawClient(t, as, 'bank')];
    const streams: Stream[] = [];
    for (const client of clients) streams.push(await (await client.open(ABLE)).listen());
    const errors = await Promise.all(clients.map((client) => client.request('tools/call', PAY)));
    const ids = errors.map(({ error }) => error.data.elicitations[0].elicitationId);
    expect(ids[1]).toBe(ids[0]);
    await approve(ids[0]);
    for (const stream of streams)
      expect((await stream.events(1))[0]?.data).toMatchObject({
        method: 'notifications/elicitation/complete',
        params: { elicitationId: ids[0] },
      });
    await Promise.all(streams.map((stream) => stream.close()));
  });

  it('a client without url elicitation gets the link as text; other people cannot open it', async () => {
    const { result } = await send(pay({}, {}), { as: await newAgent() });
    expect(result).toMatchObject({
      isError: true,
      _meta: { auditId: expect.any(String), reason: 'APPROVAL_REQUIRED', approvalId: expect.stringMatching(/^apr_/) },
    });
    const path = `/account/approvals/${result._meta.approvalId}`;
    expect(result.content[0].text).toContain(`${path} `);
    expect(result.content[0].text).toContain('repeat the identical call');
    const open = async (as: TestUser): Promise<number> =>
      (await t.call('GET', path, { as, headers: { accept: 'text/html' } })).status;
    expect([await open(await t.user()), await open(owner), await open(await t.admin())]).toEqual([404, 200, 200]);
  });

  it('a call in a session that has ended is not decided, and does not use up an approval', async () => {
    const as = await newAgent();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: PAY };
    const send = (headers: Record<string, string> = {}) =>
      t.call('POST', '/gateway/bank/mcp', { as, body, headers: { accept: 'application/json', ...headers } });
    await approve((await send()).body.result._meta.approvalId);
    const ended = await send({ 'mcp-session-id': 'ended' });
    expect([ended.status, ended.body]).toEqual([404, { jsonrpc: '2.0', id: 1, error: expect.anything() }]);
    expect((await send()).body.result).toMatchObject({ content: [{ type: 'text' }] });
    const { body: decided } = await t.call('GET', `/audit?agentId=${as.id}`, { as: owner });
    expect(decided.map(({ action, result }: Json) => `${action} ${result}`)).toEqual([
      'execute allowed',
      'approve allowed',
      'execute denied',
    ]);
  });

  it('is not made if the client has closed its request meanwhile, and does not use up the approval', async () => {
    const as = await newAgent();
    const { result } = await send(pay(), { as });
    const { url } = result.inputRequests.approval.params;
    const body = pay({ requestState: result.requestState });
    const closing = new AbortController();
    const headers = { authorization: `Bearer ${as.token}`, 'content-type': 'application/json', ...mcpHeaders(body) };
    const request = new Request(endpoint(), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: closing.signal,
    });
    const answering = t.legate.fetch(request, { remoteAddress: '127.0.0.1' });
    closing.abort();
    await approve(url);
    await answering;
    const { body: approval } = await t.call('GET', `/approvals/${idIn(url)}`, { as: owner });
    expect(approval.status).toBe('approved');
    expect(await send(pay(), { as })).toMatchObject({ result: { content: [{ type: 'text' }] } });
  });

  it('never waits over 20 s: only the repetition of 2026-07-28 waits; other forms are answered at once', async () => {
    // The clock is stopped, so that a response that depended on it would never arrive.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const agents = await Promise.all(Array.from({ length: 4 }, newAgent));
    const [a, b, c, d] = agents as [TestAgent, TestAgent, TestAgent, TestAgent];
    const waiting = { isError: true, _meta: { reason: 'APPROVAL_REQUIRED' } };
    for (const _time of [1, 2]) {
      expect((await send(pay({}, {}), { as: a })).result).toMatchObject(waiting);
      const able = await new RawClient(t, b, 'bank').open(ABLE);
      expect((await able.request('tools/call', PAY)).error.code).toBe(-32042);
      const unable = await new RawClient(t, c, 'bank').open({});
      expect((await unable.request('tools/call', PAY)).result).toMatchObject(waiting);
    }
    const asking = async (more: Json = {}): Promise<Json> => (await send(pay(more), { as: d })).result;
    const { requestState, inputRequests } = await asking();
    const declined = { approval: { action: 'decline' } };
    expect(Object.keys(inputRequests)).toEqual(['approval']);
    expect(await asking({ requestState, inputResponses: declined })).toMatchObject(waiting);
    const accepted = {
      requestState: (await asking()).requestState,
      inputResponses: { approval: { action: 'accept' } },
    };
    let isHeld = true;
    const repeated = asking(accepted).finally(() => {
      isHeld = false;
    });
    // Responses to other requests show that this one is waiting.
    for (let n = 0; n < 3; n++) await send(pay({}, {}), { as: a });
    expect(isHeld).toBe(true);
    vi.advanceTimersByTime(20_000);
    expect(await repeated).toEqual({ resultType: 'input_required', requestState: expect.any(String) });
  });
});
