import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { compareDefinitions, LockFile, lockOf, type Tool } from './definitions.ts';
import { listTools } from './list-tools.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

const root = resolve(import.meta.dirname, '../../..');
const inputSchema = { type: 'object' as const };
/** A placeholder in a value. */
const ref = (kind: string, name: string): string => `\${${kind}:${name}}`;
const one = (server: object, env: NodeJS.ProcessEnv = {}): GatewayServer =>
  parseServers({ mcpServers: { notes: server } }, env)[0] as GatewayServer;

/** The script of a server of the SDK. Its only tool is named after the variables that it can see. */
const script = (before: string): string => `${before}
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
const server = new Server({ name: 'x', version: '1' }, { capabilities: { tools: {} } });
const names = [process.env.SHOWN, process.env.LEGATE_HIDDEN ?? 'none', process.pid].join('.');
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: names, inputSchema: { type: 'object' } }] }));
await server.connect(new StdioServerTransport());`;
const stdio = (before = ''): GatewayServer =>
  one(
    {
      command: process.execPath,
      args: ['--input-type=module', '-e', script(before)],
      cwd: root,
      env: { SHOWN: ref('env', 'GIVEN') },
    },
    { GIVEN: 'given' },
  );

describe('the mcpServers object', () => {
  it.each([
    [{ command: 'x', comand: 'y' }, /^mcpServers.notes: unknown key "comand"; known: type, command, /],
    [{ command: 'x', legate: { pins: 'off' } }, /^mcpServers.notes.legate: unknown key "pins"/],
    [{ command: 'x', legate: { sampling: 'yes' } }, /legate.sampling/],
    [{ type: 'ws', url: 'https://x.example/ws' }, /type: must be stdio, http, streamable-http or sse/],
    [{ url: 'https://x.example', headers: { 'a b': 'c' } }, /headers.a b: has characters/],
    [{}, /either command or url/],
    [{ command: 'x', url: 'https://x.example' }, /either command or url/],
    [{ type: 'http', command: 'x' }, /type/],
    [{ url: 'file:///etc/passwd' }, /http or https/],
    [{ command: 'x', args: [ref('env', 'MISSING')] }, /MISSING is not set/],
    [{ command: 'x', args: [ref('file', '/nowhere/x')] }, /ENOENT/],
    [{ command: 'x', args: [ref('user', 'token')] }, /user:/],
  ])('refuses %j', (server, message) => {
    expect(() => one(server)).toThrow(message);
  });

  it.each([
    [{ servers: { a: { command: 'x' } } }, 'the key mcpServers is missing; rename servers'],
    [{}, 'the key mcpServers is missing'],
    [{ mcpServers: { 'a b': { command: 'x' } } }, 'mcpServers.a b: a name has at most 64 letters'],
    [{ mcpServers: {}, more: 1 }, 'the file: unknown key "more"; known: mcpServers'],
  ])('refuses %j', (value, message) => {
    expect(() => parseServers(value, {})).toThrow(message);
  });

  it('has sampling and roots switched off unless they are allowed', () => {
    expect(one({ command: 'x', legate: { roots: true } }).legate).toMatchObject({ sampling: false, roots: true });
  });

  it('refuses names that differ in case only', () => {
    expect(() => parseServers({ mcpServers: { a: { command: 'x' }, A: { command: 'x' } } }, {})).toThrow(/this name/);
  });

  it('omits disabled servers', () => {
    expect(parseServers({ mcpServers: { a: { command: 'x', disabled: true } } }, {})).toEqual([]);
  });
});

describe('definitions', () => {
  it('are hashed as canonical JSON [RFC 8785]', () => {
    expect(canonicalJson({ '\u20ac': 1e21, '\r': [true, null], '\ud83d\ude00': 4.5, '\ufb33': '\u000f"' })).toBe(
      '{"\\r":[true,null],"\u20ac":1e+21,"\ud83d\ude00":4.5,"\ufb33":"\\u000f\\""}',
    );
    expect(() => canonicalJson('\ud800')).toThrow(/surrogates/);
  });

  const tool: Tool = { name: 'read', description: 'Reads a note.', inputSchema, annotations: { readOnlyHint: true } };
  it.each<[string, Tool[], string[]]>([
    ['title, icon and white space', [{ ...tool, title: 'R', icons: [], description: ' Reads  a\nnote.' }], []],
    ['description', [{ ...tool, description: 'Reads all.' }], ['read: description changed']],
    ['annotations', [{ ...tool, annotations: {} }], ['read: schema or annotations changed']],
    ['schema', [{ ...tool, inputSchema: { type: 'array' } }], ['read: schema or annotations changed']],
    ['name', [{ ...tool, name: 'get' }], ['get: new tool', 'read: removed']],
  ])('differ by %s', (_, tools, expected) => {
    expect(compareDefinitions(lockOf([tool]), lockOf(tools))).toEqual(expected);
  });

  it('are recorded for every name of a tool', () => {
    const lock = lockOf(['__proto__', 'constructor', 'a/b'].map((name) => ({ ...tool, name })));
    const recorded = LockFile.parse(JSON.parse(JSON.stringify({ version: 1, servers: { notes: lock } })));
    expect(compareDefinitions(recorded.servers['notes'] ?? {}, lock)).toEqual([]);
    const malformed = JSON.parse('{"version":1,"servers":{"notes":{"__proto__":{"description":"x"}}}}');
    expect(LockFile.safeParse(malformed).error?.issues.map(({ path }) => path.join('.'))).toEqual([
      'servers.notes.__proto__.description',
      'servers.notes.__proto__.contract',
    ]);
  });
});

describe('listing the tools of a server', () => {
  it('gives a process a short list of variables and its own ones, and ends it', async () => {
    process.env['LEGATE_HIDDEN'] = 'secret';
    const [tool] = await listTools(stdio()).finally(() => delete process.env['LEGATE_HIDDEN']);
    const [shown, hidden, pid] = tool?.name.split('.') ?? [];
    expect([shown, hidden]).toEqual(['given', 'none']);
    expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/);
  });

  it('kills a process that ignores the end of its input and TERM', async () => {
    const [tool] = await listTools(stdio(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`));
    expect(() => process.kill(Number(tool?.name.split('.')[2]), 0)).toThrow(/ESRCH/);
  });

  it('reports a command that cannot be started and one that ends immediately', async () => {
    await expect(listTools(one({ command: '/nowhere/x' }))).rejects.toThrow('it cannot be started: ENOENT');
    await expect(listTools(one({ command: process.execPath, args: ['-e', ''] }))).rejects.toThrow('exit code 0');
  });

  it.each([true, false])('reads all pages over HTTP with the configured headers (JSON: %s)', async (json) => {
    const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      if (req.headers.authorization !== 'Bearer s3cret') return void res.writeHead(401).end();
      const server = new Server({ name: 'x', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
        params?.cursor === 'two'
          ? { tools: [{ name: 'b', inputSchema }] }
          : { tools: [{ name: 'a', inputSchema }], nextCursor: 'two' },
      );
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: json });
      await server.connect(transport as never);
      await transport.handleRequest(req, res);
    };
    const http = createServer((req, res) => void answer(req, res));
    await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    try {
      const tools = await listTools(
        one({ url, headers: { Authorization: `Bearer ${ref('env', 'T')}` } }, { T: 's3cret' }),
      );
      expect(tools.map(({ name }) => name)).toEqual(['a', 'b']);
      await expect(listTools(one({ url }))).rejects.toThrow('status 401');
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });
});
