import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { legate, scratchFolder } from '../support/cli.ts';

/** An MCP server over stdio. Its second argument is the description of its tool. */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [{ name: 'read', description: process.argv[2], inputSchema: { type: 'object' } }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
});
`;

describe('legate gateway check', () => {
  it('writes a missing lock file, reports drift with exit code 1, and does not change the file', async () => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'server.cjs'), SERVER);
    const configure = (description: string, more: object = {}): void =>
      writeFileSync(
        join(cwd, 'mcp.json'),
        JSON.stringify({
          mcpServers: { notes: { command: process.execPath, args: ['server.cjs', description], ...more } },
        }),
      );
    const check = (...args: string[]) => legate(['gateway', 'check', ...args], { cwd });
    configure('Reads a note.');
    expect(await check('--frozen')).toMatchObject({ code: 1, stderr: expect.stringContaining('is missing') });
    expect(await check()).toEqual({
      code: 0,
      stdout: 'Servers: 1, tools: 1, written to legate.gateway.lock.json.\n',
      stderr: '',
    });
    const lock = readFileSync(join(cwd, 'legate.gateway.lock.json'), 'utf8');
    expect(await check('--frozen')).toMatchObject({ code: 0, stdout: expect.stringContaining('as recorded in') });

    configure('Reads every file.');
    expect(await check()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('notes: read: description changed'),
    });
    expect(readFileSync(join(cwd, 'legate.gateway.lock.json'), 'utf8')).toBe(lock);
    configure('Reads a note.', { args: ['missing.cjs'] });
    expect(await check()).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot find module') });
    configure('Reads a note.', { comand: 'x' });
    expect(await check()).toMatchObject({ code: 78, stderr: expect.stringContaining('comand') });
  });

  it('without a file takes the servers of the configuration, except those to which people sign in', async () => {
    const cwd = scratchFolder();
    expect(await legate(['gateway', 'check'], { cwd })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('--config'),
    });
    writeFileSync(join(cwd, 'server.cjs'), SERVER);
    const servers = {
      notes: { command: process.execPath, args: ['server.cjs', 'Reads a note.'] },
      issues: { url: 'https://mcp.example.com/mcp', legate: { auth: { type: 'oauth' } } },
    };
    writeFileSync(join(cwd, 'legate.config.json'), JSON.stringify({ gateway: { servers } }));
    const checked = await legate(['gateway', 'check'], { cwd });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('Servers: 1, tools: 1, written to') });
    expect(checked.stdout).toContain('issues is not checked, because each person signs in to it.');
    expect((await legate(['gateway', 'check', '--frozen'], { cwd })).code).toBe(0);
  });

  it('reads the tools of servers of 2026-07-28 only, and over HTTP with SSE', async () => {
    const tools = [{ name: 'read', description: 'Reads a note.', inputSchema: { type: 'object' } }];
    const serverInfo = { name: 'x', version: '1' };
    const capabilities = { tools: {} };
    const modern = { supportedVersions: ['2026-07-28'], capabilities, serverInfo };
    const older = { protocolVersion: '2024-11-05', capabilities, serverInfo };
    let stream: ServerResponse | undefined;
    const answerTo = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
      if (req.method === 'GET') {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n');
        stream = res;
        return undefined;
      }
      const { id, method } = (await json(req)) as { id: number; method: string };
      const isSse = req.url === '/messages';
      const result = { 'tools/list': { tools }, [isSse ? 'initialize' : 'server/discover']: isSse ? older : modern }[
        method
      ];
      const error = { code: -32601, message: 'Method not found' };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) });
      if (!isSse) return res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
      res.writeHead(202).end();
      return id !== undefined && stream?.write(`data: ${answer}\n\n`);
    };
    const http = createServer((req, res) => void answerTo(req, res));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const cwd = scratchFolder();
    const mcpServers = { modern: { url: `${base}/mcp` }, sse: { type: 'sse', url: `${base}/sse` } };
    writeFileSync(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers }));
    expect(await legate(['gateway', 'check'], { cwd })).toEqual({
      code: 0,
      stdout: 'Servers: 2, tools: 2, written to legate.gateway.lock.json.\n',
      stderr: '',
    });
  });
});
