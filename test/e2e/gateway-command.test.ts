import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { legate, PROGRAM, root, scratchFolder, serve } from '../support/cli.ts';
import { connectV2, provider } from '../support/mcp-clients.ts';
import type { Json } from '../support/service.ts';
import { WebPerson } from '../support/web-person.ts';

/** An MCP server over stdio. The description of its tool is in a file. */
const SERVER = `
const { readFileSync } = require('node:fs');
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'read', description: readFileSync('description', 'utf8'), inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'hello' }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: methods[method]() }));
});
`;

const guide = readFileSync(join(root, 'docs/guides/login-for-an-mcp-server.md'), 'utf8');

it('legate gateway puts a login and decisions in front of a server, as the guide describes', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'server.cjs'), SERVER);
  writeFileSync(join(cwd, 'description'), 'Reads a note.');
  const started = [process.execPath, 'server.cjs'] as const;
  const program = [process.execPath, PROGRAM, 'gateway', '--name', 'filesystem', '--', ...started] as const;
  const service = await serve({ cwd, command: program as never });
  await expect.poll(() => service.output(), { timeout: 20_000 }).toContain('filesystem answers, and has 1 tool.');

  const { port } = new URL(service.url);
  const printed = service.output().replaceAll(`localhost:${port}`, 'localhost:3000');
  const snippets = [...guide.matchAll(/```text\n(.*)\n```/g)].map(([, snippet]) => snippet as string);
  expect(snippets.length).toBe(6);
  for (const snippet of snippets) expect(printed).toContain(`  ${snippet}\n`);

  const link = service.output().match(/\S+\/setup\?token=\S+/)?.[0] as string;
  const post = async (path: string, body: object): Promise<Json> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, ...((await response.json()) as object) };
  };
  const person = new WebPerson('me@example.com');
  const account = { email: person.email, password: person.password };
  const { token } = await post('/setup', { token: new URL(link).searchParams.get('token'), ...account });
  expect((await post('/sign-up', { email: 'other@example.com', password: account.password })).status).toBe(403);

  const address = `http://localhost:${port}/gateway/filesystem/mcp`;
  expect(service.output()).toContain(address);
  const client = await connectV2()(address, provider(), person);
  expect(await client.call('read')).toEqual([{ type: 'text', text: 'hello' }]);
  const get = async (path: string): Promise<Json> =>
    (await fetch(service.url + path, { headers: { authorization: `Bearer ${token}` } })).json();
  expect((await get('/audit'))[0]).toMatchObject({ resource: 'mcp:filesystem:read', result: 'allowed' });

  writeFileSync(join(cwd, 'description'), 'Reads every file.\u001b[2J');
  expect(await client.tools()).toEqual([]);
  const waiting = await legate(['gateway', 'approve', 'filesystem'], { cwd });
  expect(waiting).toMatchObject({ code: 0, stdout: expect.stringContaining('- Reads a note.') });
  expect(waiting.stdout).toContain('+ Reads every file.\\u{1b}[2J');
  expect(await client.tools()).toEqual([]);
  expect((await legate(['gateway', 'approve', 'filesystem', 'write'], { cwd })).code).toBe(1);
  expect((await legate(['gateway', 'approve', 'filesystem', 'read'], { cwd })).stdout).toContain('Approved: 1.');
  expect(await client.tools()).toEqual(['read']);

  writeFileSync(join(cwd, 'description'), 'Reads a note.');
  expect(await client.tools()).toEqual([]);
  const remote = await legate(['gateway', 'approve', 'filesystem', '--all', '--url', service.url, '--token', token], {
    cwd: scratchFolder(),
  });
  expect(remote).toMatchObject({ code: 0, stdout: expect.stringContaining('Approved: 1.') });
  expect(await client.tools()).toEqual(['read']);
  await client.close();
  expect(await service.stop()).toBe(0);
}, 60_000);

it('legate gateway refuses what is not clear', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'mcp.json'), '{"mcpServers":{"a":{"command":"x","comand":"y"}}}');
  writeFileSync(join(cwd, 'headers'), 'no header');
  const refusal = async (...args: string[]) => {
    const { code, stderr } = await legate(['gateway', ...args], { cwd });
    return [code, stderr.split('\n')[0]];
  };
  const upstream = ['--upstream', 'https://mcp.example.com/mcp'];
  expect(
    await Promise.all([
      refusal(),
      refusal('node', 'x.js'),
      refusal('--config', 'mcp.json'),
      refusal(...upstream),
      refusal('--name', 'a', ...upstream, '--header-file', 'headers'),
      refusal('--name', 'a b', ...upstream),
    ]),
  ).toEqual([
    [64, expect.stringContaining('legate gateway needs a server')],
    [64, expect.stringContaining('Write -- before the command')],
    [78, expect.stringContaining('comand')],
    [64, expect.stringContaining('--name')],
    [64, expect.stringContaining('line 1 is not a header')],
    [78, expect.stringContaining('--upstream')],
  ]);
});
