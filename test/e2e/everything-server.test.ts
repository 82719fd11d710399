import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM, root } from '../support/cli.ts';
import { freePort, type Running, startProcess } from '../support/process.ts';
import type { Json } from '../support/service.ts';
import { until } from '../support/until.ts';

/**
 * The unmodified reference server with every feature of MCP, over each of its transports, with clients of both
 * generations: requests of servers, progress, resources and their changes, prompts, completion, tasks.
 */

const EVERYTHING = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const ADMIN = { email: 'root@example.com', password: 'correct horse battery staple' };
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {} };
const INPUT = { action: 'accept', content: { name: 'Ada', check: true, interpretation: 'technical' } };
const SAMPLE = { model: 'none', role: 'assistant', content: { type: 'text', text: 'a sample' } };
const PLACE = 'demo://resource/dynamic/text/1';
const INHERITED = ['HOME', 'MCP_GATEWAY_GROUP', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];
const LEGATE = { sampling: true };

const cwd = mkdtempSync(join(tmpdir(), 'legate-e2e-'));
const upstreams: (() => void)[] = [];
let service: Running;
let token: string;

/** Starts the server as a separate HTTP server, and returns its port. */
async function listening(transport: 'sse' | 'streamableHttp', announced: RegExp): Promise<number> {
  const port = await freePort();
  const { PATH = '' } = process.env as { PATH?: string };
  const child = spawn(process.execPath, [EVERYTHING, transport], { env: { PATH, PORT: String(port) } });
  upstreams.push(() => child.kill('SIGKILL'));
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk));
  await until(() => announced.test(output), { timeout: 60_000 });
  return port;
}

const send = async (path: string, body: object, as?: string): Promise<Json> => {
  const headers = { 'content-type': 'application/json', ...(as && { authorization: `Bearer ${as}` }) };
  return (await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};

beforeAll(async () => {
  const [sse, http] = await Promise.all([listening('sse', /running on port/), listening('streamableHttp', /on port/)]);
  const servers = {
    stdio: { command: process.execPath, args: [EVERYTHING], legate: LEGATE },
    sse: { type: 'sse', url: `http://127.0.0.1:${sse}/sse`, legate: LEGATE },
    http: { url: `http://127.0.0.1:${http}/mcp`, legate: LEGATE },
  };
  service = await startProcess([process.execPath, PROGRAM, 'serve'], {
    cwd,
    env: {
      LEGATE_GATEWAY_SERVERS: JSON.stringify(servers),
      LEGATE_ADMIN_EMAIL: ADMIN.email,
      LEGATE_ADMIN_PASSWORD: ADMIN.password,
      LEGATE_LOG_LEVEL: 'warn',
    },
  });
  const { token: session, user } = await send('/sign-in', ADMIN);
  const permissions = [{ resource: 'mcp:*', actions: ['*'] }];
  const agent = { ownerId: user.id, name: 'a', type: 'autonomous', permissions };
  ({ token } = await send('/agents', agent, session));
});
afterAll(async () => {
  for (const end of upstreams) end();
  expect(await service?.stop()).toBe(0);
  rmSync(cwd, { recursive: true, force: true });
});

interface Connected {
  readonly revision: string | undefined;
  call(name: string, args?: Json, onprogress?: (made: Json) => void): Promise<Json>;
  /** Listens to a resource, and resolves when it has changed. */
  changed(uri: string): Promise<{ seen: Promise<string> }>;
  readonly client: Client | v2.Client;
  close(): Promise<void>;
}

const address = (server: string): URL => new URL(`${service.url}/gateway/${server}/mcp`);
const requestInit = () => ({ headers: { authorization: `Bearer ${token}` } });

const CLIENTS: Readonly<Record<string, (server: string) => Promise<Connected>>> = {
  '2025-11-25': async (server) => {
    const client = new Client({ name: 'v1', version: '1' }, { capabilities: CAPABILITIES });
    client.setRequestHandler(ElicitRequestSchema, () => INPUT as never);
    client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLE as never);
    const transport = new StreamableHTTPClientTransport(address(server), { requestInit: requestInit() });
    await client.connect(transport as never);
    return {
      client,
      revision: transport.protocolVersion,
      call: (name, args = {}, onprogress) =>
        client.callTool({ name, arguments: args }, undefined, onprogress && { onprogress }),
      changed: async (uri) => {
        const seen = new Promise<string>((resolve) =>
          client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri)),
        );
        await client.subscribeResource({ uri });
        return { seen };
      },
      close: () => client.close(),
    };
  },
  '2026-07-28': async (server) => {
    const client = new v2.Client(
      { name: 'v2', version: '1' },
      { capabilities: CAPABILITIES, versionNegotiation: { mode: 'auto' } },
    );
    client.setRequestHandler('elicitation/create', async () => INPUT as never);
    client.setRequestHandler('sampling/createMessage', async () => SAMPLE as never);
    await client.connect(new v2.StreamableHTTPClientTransport(address(server), { requestInit: requestInit() }));
    return {
      client,
      revision: client.getNegotiatedProtocolVersion(),
      call: (name, args = {}, onprogress) => client.callTool({ name, arguments: args }, onprogress && { onprogress }),
      changed: async (uri) => {
        const seen = new Promise<string>((resolve) =>
          client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri)),
        );
        await client.listen({ resourceSubscriptions: [uri] });
        return { seen };
      },
      close: () => client.close(),
    };
  },
};

const textOf = ({ content }: Json): string => content.map(({ text }: Json) => text).join('\n');

const CASES = Object.keys(CLIENTS).flatMap((client) => ['stdio', 'sse', 'http'].map((server) => [client, server]));

describe.each(CASES as [string, string][])('a client of %s, the server over %s', (revision, server) => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await (CLIENTS[revision] as (server: string) => Promise<Connected>)(server);
    expect(connected.revision).toBe(revision);
  });
  afterAll(() => connected?.close());

  it('has progress, elicitation by form and by address, and sampling', async () => {
    const progress: number[] = [];
    const steps = { duration: 0.2, steps: 2 };
    await connected.call('trigger-long-running-operation', steps, ({ progress: made }) => progress.push(made));
    expect(progress).toEqual([1, 2]);
    expect(textOf(await connected.call('trigger-elicitation-request'))).toContain('Ada');
    const url = 'https://x.example/';
    expect(textOf(await connected.call('trigger-url-elicitation', { url }))).toContain('accept');
    expect(textOf(await connected.call('trigger-sampling-request', { prompt: 'Hello' }))).toContain('a sample');
  });

  it('has resources, their changes, prompts and completion', async () => {
    const { client } = connected;
    const { contents } = (await client.readResource({ uri: PLACE })) as Json;
    expect(contents[0].uri).toBe(PLACE);
    const { resourceTemplates } = (await client.listResourceTemplates()) as Json;
    expect(resourceTemplates.length).toBeGreaterThan(0);
    const prompt = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bonn' } });
    expect(JSON.stringify(prompt)).toContain('Bonn');
    const asked = { ref: { type: 'ref/prompt' as const, name: 'completable-prompt' } };
    const { completion } = await client.complete({ ...asked, argument: { name: 'department', value: 'E' } });
    expect(completion.values).toContain('Engineering');
    const { seen } = await connected.changed(PLACE);
    await connected.call('toggle-subscriber-updates');
    expect(await seen).toBe(PLACE);
    await connected.call('toggle-subscriber-updates');
  });
});

it.each(['stdio', 'sse', 'http'])('a task that asks the user runs to its end, the server over %s', async (server) => {
  const { client, close } = await (CLIENTS['2025-11-25'] as (server: string) => Promise<Connected>)(server);
  const asked = { name: 'simulate-research-query', arguments: { topic: 'python', ambiguous: true } };
  // The SDK learns from the list which tools create tasks.
  await client.listTools();
  const seen: Json[] = [];
  for await (const message of (client as Client).experimental.tasks.callToolStream(asked, CallToolResultSchema))
    seen.push(message);
  const [first] = seen as [Json];
  expect(first).toMatchObject({ type: 'taskCreated', task: { status: 'working' } });
  expect(seen.map(({ task }) => task?.status)).toContain('input_required');
  const { type, result } = seen.at(-1) as Json;
  expect([type, textOf(result)]).toEqual(['result', expect.stringContaining('Research Report: python')]);
  await close();
});

it('a call that its client cancels ends at the server; the process gets only a short list of variables', async () => {
  const { call, client, close } = await (CLIENTS['2025-11-25'] as (server: string) => Promise<Connected>)('stdio');
  const cancelling = new AbortController();
  const args = { duration: 600, steps: 600 };
  const long = (client as Client).callTool({ name: 'trigger-long-running-operation', arguments: args }, undefined, {
    signal: cancelling.signal,
    onprogress: () => cancelling.abort(),
  });
  await expect(long).rejects.toThrow();
  const env = JSON.parse(textOf(await call('get-env')));
  expect(Object.keys(env).filter((name) => !INHERITED.includes(name))).toEqual([]);
  const outcomes = async () =>
    (await (await fetch(`${service.url}/events?types=gateway.call&limit=20`, requestInit())).json()).map(
      ({ data }: Json) => [data.tool, data.outcome],
    );
  await expect.poll(outcomes).toContainEqual(['trigger-long-running-operation', 'cancelled']);
  await close();
});
