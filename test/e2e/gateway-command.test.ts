import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { legate, PROGRAM, root, scratchFolder, serve } from '../support/cli.ts';
import { connectV1, connectV2, provider } from '../support/mcp-clients.ts';
import type { Json } from '../support/service.ts';
import { WebPerson } from '../support/web-person.ts';

/** An MCP server over stdio. The description of its first tool is read from a file. */
const SERVER = `
const { readFileSync } = require('node:fs');
const tool = (name, description) => ({ name, description, inputSchema: { type: 'object' } });
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities:
    { tools: {} } }),
  'tools/list': () => ({ tools: [
    tool('read_text_file', readFileSync('description', 'utf8')), tool('write_file'), tool('move_file'),
  ] }),
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
  await expect.poll(() => service.output()).toContain('filesystem answers, and has 3 tools.');

  const { port } = new URL(service.url);
  const printed = service.output().replaceAll(`localhost:${port}`, 'localhost:3000');
  const snippets = [...guide.matchAll(/```text\n(.*)\n```/g)].map(([, snippet]) => snippet as string);
  expect(snippets.length).toBe(7);
  for (const snippet of snippets) expect(printed).toContain(`  ${snippet}\n`);

  expect(printed).toContain('http://localhost:3000/console\n');
  expect(printed).toContain('the calls that need your approval');

  const link = service.output().match(/\S+\/setup\?token=\S+/)?.[0] as string;
  const send = async (method: string, path: string, body: object | undefined, as?: string): Promise<Json> => {
    const headers = { 'content-type': 'application/json', ...(as && { authorization: `Bearer ${as}` }) };
    const response = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return response.ok ? response.json() : { status: response.status };
  };
  const person = new WebPerson('me@example.com');
  const account = { email: person.email, password: person.password };
  await person.press(link, account);
  const { token } = await send('POST', '/sign-in', account);
  expect(await send('POST', '/sign-up', { ...account, email: 'other@example.com' })).toEqual({ status: 403 });

  const address = `http://localhost:${port}/gateway/filesystem/mcp`;
  expect(service.output()).toContain(address);
  const client = await connectV2()(address, provider(), person);
  expect(await client.call('read_text_file')).toEqual([{ type: 'text', text: 'hello' }]);
  const get = (path: string): Promise<Json> => send('GET', path, undefined, token);
  const newest = async () => (await get('/audit')).map(({ resource, result }: Json) => [resource, result])[0];
  expect(await newest()).toEqual(['mcp:filesystem:read_text_file', 'allowed']);
  const [ended] = await get('/events?types=gateway.call');
  expect(ended.data).toMatchObject({
    server: 'filesystem',
    tool: 'read_text_file',
    outcome: 'ok',
  });
  expect(await get('/gateway/servers')).toMatchObject([
    { name: 'filesystem', state: 'running', tools: { approved: 3 } },
  ]);

  const permissions = JSON.parse(/```json\n(.*?)```/s.exec(guide)?.[1] as string);
  const older = await connectV1(address, provider(), person);
  expect(await older.tools()).toEqual(['read_text_file', 'write_file', 'move_file']);
  for (const { id } of await get('/agents')) await send('PATCH', `/agents/${id}`, { permissions }, token);
  for (const each of [client, older]) {
    expect(await each.tools()).toEqual(['read_text_file', 'write_file']);
    expect(await each.result('move_file')).toMatchObject({ isError: true, _meta: { reason: 'NO_PERMISSION' } });
    expect(await newest()).toEqual(['mcp:filesystem:move_file', 'denied']);
    const [{ text }] = (await each.call('write_file', { path: 'a' })) as [{ text: string }];
    const page = text.match(/http\S+\/account\/approvals\/\w+/)?.[0] as string;
    expect(await person.press(page, { decision: 'approve' })).toContain('This call is approved');
    expect(await each.call('write_file', { path: 'a' })).toEqual([{ type: 'text', text: 'hello' }]);
    expect(await newest()).toEqual(['mcp:filesystem:write_file', 'allowed']);
  }
  await older.close();

  writeFileSync(join(cwd, 'description'), 'Reads every file.\u001b[2J');
  expect(await client.tools()).toEqual(['write_file']);
  const waiting = await legate(['gateway', 'approve', 'filesystem'], { cwd });
  expect(waiting).toMatchObject({ code: 0, stdout: expect.stringContaining('- Reads a note.') });
  expect(waiting.stdout).toContain('+ Reads every file.\\u{1b}[2J');
  expect(await client.tools()).toEqual(['write_file']);
  expect((await legate(['gateway', 'approve', 'filesystem', 'unlisted'], { cwd })).code).toBe(1);
  expect((await legate(['gateway', 'approve', 'filesystem', 'read_text_file'], { cwd })).stdout).toContain(
    'Approved: 1.',
  );
  expect(await client.tools()).toEqual(['read_text_file', 'write_file']);

  writeFileSync(join(cwd, 'description'), 'Reads a note.');
  expect(await client.tools()).toEqual(['write_file']);
  const approveThere = (env: Record<string, string>, ...more: string[]) =>
    legate(['gateway', 'approve', 'filesystem', '--url', service.url, ...more], { cwd: scratchFolder(), env });
  expect(await approveThere({})).toMatchObject({ code: 64, stderr: expect.stringContaining('/account/tokens') });
  // What it prints can be run again as it is.
  expect((await approveThere({ LEGATE_TOKEN: token })).stdout).toContain(
    `npx legate gateway approve filesystem <tool> --url ${service.url}`,
  );
  const remote = await approveThere({}, '--all', '--token', token);
  expect(remote).toMatchObject({ code: 0, stdout: expect.stringContaining('Approved: 1.') });
  expect(await client.tools()).toEqual(['read_text_file', 'write_file']);
  await client.close();
  expect(await service.stop()).toBe(0);
});

it('legate serve prints the addresses of servers behind the gateway, and names a mistake as written', async () => {
  const cwd = scratchFolder();
  const notes = { command: process.execPath };
  const configured = (servers: object) => ({ LEGATE_GATEWAY_SERVERS: JSON.stringify(servers) });
  const service = await serve({ cwd, env: configured({ notes, off: { ...notes, disabled: true } }) });
  expect(service.output()).toContain('/gateway/notes/mcp\n');
  expect(service.output()).not.toContain('/gateway/off/mcp');
  expect(await service.stop()).toBe(0);
  for (const [text, problem] of [
    ['{"notes":{"comand":"x"}}', 'notes: unknown key "comand"'],
    ['{"notes":', 'is not valid JSON'],
    ['[]', 'must be an object'],
  ] as const)
    expect(await legate(['serve'], { cwd, env: { LEGATE_GATEWAY_SERVERS: text } })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(`LEGATE_GATEWAY_SERVERS: ${problem}`),
    });
});

it('legate gateway refuses ambiguous arguments', async () => {
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
      refusal('--port', '4000', 'npx', '-y', 'server'),
      refusal('--config', 'mcp.json'),
      refusal(...upstream),
      refusal('--name', 'a', ...upstream, '--header-file', 'headers'),
      refusal('--name', 'a b', ...upstream),
    ]),
  ).toEqual([
    [64, expect.stringContaining('legate gateway needs a server')],
    [64, expect.stringContaining('Write -- before the command')],
    [64, 'Write -- before the command: npx legate gateway --port 4000 -- npx -y server'],
    [78, expect.stringContaining('comand')],
    [64, expect.stringContaining('--name')],
    [64, expect.stringContaining('line 1 is not a header')],
    [78, expect.stringMatching(/^--name: a name has at most/)],
  ]);
});

it('legate gateway refuses a port in use with the option that sets another', async () => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await legate(['gateway', '--port', String(port), '--', process.execPath, 'server.cjs']);
  expect([code, stderr]).toEqual([
    1,
    `Port ${port} of 127.0.0.1 is in use. Stop the other process, or set --port to another port.\n`,
  ]);
});
