import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
});
