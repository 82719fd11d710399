import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

/**
 * The behaviour of each kind of client when a call waits for a person; docs/gateway.md has the table. `mcp-remote` is
 * in test/e2e/reference-servers.test.ts.
 */

/** A server over stdio that counts its calls. */
const SERVER = `
let calls = 0;
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'bank', version: '1' }, capabilities:
    { tools: {} } }),
  'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: String(++calls) }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.();
  if (result) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;
const PAY = { name: 'pay', arguments: { to: 'acme', amount: 10 } };
const DONE = { content: [{ type: 'text', text: '1' }] };

let t: TestService;
let endpoint: URL;
beforeAll(async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-clients-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const bank = { command: process.execPath, args: [script] };
  t = await createTestService({ lasting: true, config: { gateway: { servers: { bank } } } });
  endpoint = new URL(`${t.legate.platform.baseUrl}/gateway/bank/mcp`);
});

/** Each client belongs to a different person, and so has its own process, which counts from 1. */
async function newClient(): Promise<{ owner: TestUser; agent: TestAgent }> {
  const owner = await t.user();
  const permission = { resource: 'mcp:bank:pay', actions: ['execute'], constraints: { requireApproval: true } };
  return { owner, agent: await t.agent(owner, { permissions: [permission] }) };
}
const approve = async (owner: TestUser, page: string): Promise<void> => {
  const path = new URL(page).pathname;
  const headers = { accept: 'text/html' };
  expect((await t.call('GET', path, { as: owner, headers })).status).toBe(200);
  expect((await t.call('POST', `/approvals/${path.split('/').at(-1)}/approve`, { as: owner })).status).toBe(200);
};
const options = (agent: TestAgent) => ({
  requestInit: { headers: { authorization: `Bearer ${agent.token}` } },
  fetch: (url: string | URL, init?: RequestInit) =>
    t.legate.fetch(new Request(url, init), { remoteAddress: '127.0.0.1' }),
});

interface Kind {
  readonly revision: '2025-03-26' | '2025-06-18' | '2025-11-25';
  readonly elicitation?: Json;
  /** Sends no session id with its calls. */
  readonly drops?: true;
  readonly told: 'by text' | 'by an address';
}
const KINDS: Record<string, Kind> = {
  'claude.ai: no elicitation, every request has one id': { revision: '2025-06-18', told: 'by text' },
  'Claude Code: declares form elicitation only': { revision: '2025-11-25', elicitation: {}, told: 'by text' },
  'VS Code, Cursor, Codex, opencode: form and url': {
    revision: '2025-11-25',
    elicitation: { form: {}, url: {} },
    told: 'by an address',
  },
  'the same before 2025-11-25, which has no address': {
    revision: '2025-06-18',
    elicitation: { form: {}, url: {} },
    told: 'by text',
  },
  'JetBrains Copilot: no elicitation': { revision: '2025-03-26', told: 'by text' },
  'ChatGPT: drops the session id between calls': { revision: '2025-06-18', drops: true, told: 'by text' },
};

describe('a call that waits for a person', () => {
  it.each(Object.entries(KINDS))('is answered immediately, and runs once it is approved: %s', async (_name, kind) => {
    // The clock is stopped, so that a response that depended on it would never arrive.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { owner, agent } = await newClient();
    let session: string | null = null;
    const send = async (method: string, params: Json): Promise<Json> => {
      const { headers, body } = await t.call('POST', endpoint.pathname, {
        as: agent,
        body: { jsonrpc: '2.0', id: 1, method, params },
        headers: { accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) },
      });
      if (!kind.drops) session = headers.get('mcp-session-id') ?? session;
      return body;
    };
    const capabilities = kind.elicitation ? { elicitation: kind.elicitation } : {};
    const clientInfo = { name: 'x', version: '1' };
    const { result } = await send('initialize', { protocolVersion: kind.revision, capabilities, clientInfo });
    expect(result.protocolVersion).toBe(kind.revision);

    const first = await send('tools/call', PAY);
    let page: string;
    if (kind.told === 'by text') {
      expect(first.result).toMatchObject({ isError: true, _meta: { reason: 'APPROVAL_REQUIRED' } });
      const [{ text }] = first.result.content;
      expect(text).toContain('repeat the identical call');
      page = /http\S+\/account\/approvals\/\w+/.exec(text)?.[0] as string;
    } else {
      expect(first.error.code).toBe(-32042);
      page = first.error.data.elicitations[0].url;
    }
    // A client that repeats the call too early gets the same page and no second request for approval.
    expect(JSON.stringify(await send('tools/call', PAY))).toContain(page);
    await approve(owner, page);
    expect((await send('tools/call', PAY)).result).toEqual(DONE);
    // The approval was valid for this one call.
    expect(JSON.stringify(await send('tools/call', PAY))).toMatch(/APPROVAL_REQUIRED|-32042/);
  });

  it.each(['1', '2'])('SDK version %s without elicitation gets a text', async (version) => {
    const { owner, agent } = await newClient();
    const client =
      version === '1' ? new Client({ name: 'x', version: '1' }) : new v2.Client({ name: 'x', version: '1' });
    const transport =
      version === '1'
        ? new StreamableHTTPClientTransport(endpoint, options(agent))
        : new v2.StreamableHTTPClientTransport(endpoint, options(agent));
    await client.connect(transport as never);
    const call = (): Promise<Json> => client.callTool(PAY);
    const first = await call();
    expect(first).toMatchObject({ isError: true, _meta: { reason: 'APPROVAL_REQUIRED' } });
    await approve(owner, /http\S+\/account\/approvals\/\w+/.exec(first.content[0].text)?.[0] as string);
    expect(await call()).toMatchObject(DONE);
    await client.close();
  });

  it('SDK version 2 of 2026-07-28 waits by itself, in requests of at most 20 s', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { owner, agent } = await newClient();
    const client = new v2.Client(
      { name: 'x', version: '1' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    const shown: string[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }: Json) => {
      shown.push(params.url);
      return { action: 'accept' };
    });
    let sent = 0;
    const { fetch, ...others } = options(agent);
    const counted = (url: string | URL, init?: RequestInit): Promise<Response> => {
      if (String(init?.body).includes('tools/call')) sent++;
      return fetch(url, init);
    };
    await client.connect(new v2.StreamableHTTPClientTransport(endpoint, { ...others, fetch: counted }));
    const called = client.callTool(PAY);
    // The person opens the page and decides only after the second request.
    await until(() => sent === 2);
    await until(() => {
      vi.advanceTimersByTime(20_000);
      return sent === 3;
    });
    await approve(owner, shown[0] as string);
    expect(await called).toMatchObject(DONE);
    expect(shown).toHaveLength(1);
    await client.close();
  });
});
