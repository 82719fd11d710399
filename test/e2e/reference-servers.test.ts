import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROGRAM, root } from '../support/cli.ts';
import { type Connect, connectMcpRemote, connectV1, connectV2, provider } from '../support/mcp-clients.ts';
import { type Running, startProcess } from '../support/process.ts';
import type { Json } from '../support/service.ts';
import { WebPerson } from '../support/web-person.ts';

/** The unmodified reference servers and common clients, with `legate gateway` between them. */

type Call = readonly [tool: string, args: Record<string, unknown>, answer: string];
interface Server {
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  readonly allowed: Call;
  readonly refused: Call;
  /** The call that a person approves. */
  readonly asked?: Call;
}

const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'legate-e2e-')));
const at = (path: string): string => join(cwd, path);
const program = (name: string): string => join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const thought = { thought: 'Think first.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };

const SERVERS: Record<string, Server> = {
  filesystem: {
    args: [program('filesystem'), at('notes')],
    allowed: ['read_text_file', { path: at('notes/todo.md') }, 'Water the plants'],
    refused: ['move_file', { source: at('notes/todo.md'), destination: at('notes/done.md') }, ''],
    asked: ['write_file', { path: at('notes/new.md'), content: 'Rest' }, 'Successfully wrote'],
  },
  everything: {
    args: [program('everything')],
    allowed: ['echo', { message: 'hello' }, 'Echo: hello'],
    refused: ['get-env', {}, ''],
    asked: ['get-sum', { a: 1, b: 2 }, 'is 3'],
  },
  memory: {
    args: [program('memory')],
    env: { MEMORY_FILE_PATH: at('memory.jsonl') },
    allowed: ['read_graph', {}, 'relations'],
    refused: ['delete_entities', { entityNames: ['Ada'] }, ''],
    asked: ['create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: [] }] }, '['],
  },
  thinking: {
    args: [program('sequential-thinking')],
    allowed: ['sequentialthinking', thought, 'thoughtHistoryLength'],
    refused: ['not-a-tool', {}, ''],
  },
};

let service: Running;
let token: string;
const person = new WebPerson('me@example.com');
const send = async (method: string, path: string, body?: object): Promise<Json> => {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
};

beforeAll(async () => {
  mkdirSync(at('notes'));
  writeFileSync(at('notes/todo.md'), 'Water the plants');
  const mcpServers = Object.fromEntries(
    Object.entries(SERVERS).map(([name, { args, env }]) => [name, { command: process.execPath, args, env }]),
  );
  writeFileSync(at('mcp.json'), JSON.stringify({ mcpServers }));
  service = await startProcess([process.execPath, PROGRAM, 'gateway', '--config', 'mcp.json'], { cwd });
  const link = service.output().match(/\S+\/setup\?token=\S+/)?.[0] as string;
  const account = { email: person.email, password: person.password };
  await person.press(link, account);
  ({ token } = await send('POST', '/sign-in', account));
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  rmSync(cwd, { recursive: true, force: true });
});

/** Returns the configuration that the program printed for a client, by server. */
const printedFor = (client: string): Json => {
  const [, json] = new RegExp(`${client}, in .*:\\n *(\\S+)`).exec(service.output()) ?? [];
  return JSON.parse(json as string).mcpServers;
};

const mcpRemote = connectMcpRemote(at('mcp-remote'));
const CLIENTS: readonly (readonly [string, Connect, string | undefined])[] = [
  ['SDK version 1', connectV1, '2025-11-25'],
  ['SDK version 2', connectV2(), '2025-11-25'],
  ['SDK version 2, which negotiates', connectV2('auto'), '2026-07-28'],
  ['SDK version 2, pinned to 2026-07-28', connectV2({ pin: '2026-07-28' }), '2026-07-28'],
  ['mcp-remote', mcpRemote, undefined],
];

it.each(CLIENTS)('%s signs in, and its calls are allowed, refused and approved', async (_name, connect, revision) => {
  for (const [server, { allowed, refused, asked }] of Object.entries(SERVERS)) {
    const known = new Set((await send('GET', '/agents')).map(({ id }: Json) => id));
    const address =
      connect === mcpRemote ? printedFor('Claude Desktop')[server].args[2] : printedFor('Cursor')[server].url;
    const client = await connect(address, provider(), person);
    expect(client.revision).toBe(revision);
    if (asked) expect(await client.tools()).toContain(refused[0]);

    const [agent] = (await send('GET', '/agents')).filter(({ id }: Json) => !known.has(id));
    expect(agent.permissions).toMatchObject([{ resource: `mcp:${server}:*` }]);
    const permission = (tool: string) => ({ resource: `mcp:${server}:${tool}`, actions: ['execute'] });
    const permissions: object[] = [permission(allowed[0])];
    if (asked) permissions.push({ ...permission(asked[0]), constraints: { requireApproval: true } });
    await send('PATCH', `/agents/${agent.id}`, { permissions });
    expect((await client.tools()).toSorted()).toEqual([allowed[0], ...(asked ? [asked[0]] : [])].toSorted());

    const [text] = (await client.call(allowed[0], allowed[1])) as [{ text: string }];
    expect(text.text).toContain(allowed[2]);
    expect(await client.result(refused[0], refused[1])).toMatchObject({
      isError: true,
      _meta: { reason: 'NO_PERMISSION', auditId: expect.any(String) },
    });
    if (asked) {
      const [waiting] = (await client.call(asked[0], asked[1])) as [{ text: string }];
      const page = waiting.text.match(/http\S+\/account\/approvals\/\w+/)?.[0] as string;
      expect(await person.press(page, { decision: 'approve' })).toContain('This call is approved');
      const result = (await client.result(asked[0], asked[1])) as { content: [{ text: string }]; isError?: boolean };
      expect(result.isError ?? false).toBe(false);
      expect(result.content[0].text).toContain(asked[2]);
    }
    const decisions = await send('GET', `/audit?agentId=${agent.id}&order=asc`);
    expect(decisions.map(({ resource, result }: Json) => [resource, result])).toEqual([
      [`mcp:${server}:${allowed[0]}`, 'allowed'],
      [`mcp:${server}:${refused[0]}`, 'denied'],
      ...(asked
        ? [
            [`mcp:${server}:${asked[0]}`, 'denied'],
            [expect.stringMatching(/^legate:approvals:/), 'allowed'],
            [`mcp:${server}:${asked[0]}`, 'allowed'],
          ]
        : []),
    ]);
    await client.close();
  }
  expect(readFileSync(at('notes/todo.md'), 'utf8')).toBe('Water the plants');
});
