import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { serversOf } from './servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'legate-servers-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (text: string): string => {
  const path = join(folder, 'file');
  writeFileSync(path, text);
  return path;
};

const upstream = 'https://mcp.example.com/mcp';

it('--oauth makes each person sign in to the server, and excludes a file of headers', () => {
  expect(serversOf({ name: 'github', upstream, oauth: true })).toEqual({
    github: { url: upstream, headers: {}, legate: { auth: { type: 'oauth' } } },
  });
  expect(() => serversOf({ name: 'github', upstream, oauth: true, 'header-file': 'x' })).toThrow('--oauth');
  expect(() => serversOf({ command: ['x'], oauth: true })).toThrow('--upstream');
});

it('--header-file has one header on each line, none twice', () => {
  const read = (text: string) => serversOf({ name: 'github', upstream, 'header-file': file(text) });
  expect(read('Authorization: Bearer x\r\n\nX-Team: a b ')).toEqual({
    github: { url: upstream, headers: { authorization: 'Bearer x', 'x-team': 'a b' } },
  });
  expect(() => read('\n')).toThrow('has no header');
  expect(() => read('X-Team: a\nx-team: b')).toThrow('line 2 repeats the header x-team');
  expect(() => read('X-Team: \u{1f600}')).toThrow('line 1 has characters');
  expect(() => serversOf({ name: 'github', upstream, 'header-file': join(folder, 'none') })).toThrow('does not exist');
});

it('--config needs at least one enabled server', () => {
  const read = (mcpServers: object) => serversOf({ config: file(JSON.stringify({ mcpServers })) });
  expect(() => read({})).toThrow('mcpServers has no server');
  expect(() => read({ a: { command: 'x', disabled: true } })).toThrow('mcpServers has no server');
  expect(read({ a: { command: 'x' } })).toEqual({ a: { command: 'x' } });
});

it('names the option that is wrong, and not a place in a file that nobody has written', () => {
  expect(() => serversOf({ command: ['node', 'x.js'], name: 'servers' })).toThrow(/^--name: this name is reserved$/);
  expect(() => serversOf({ name: 'github', upstream: 'localhost:4000/mcp' })).toThrow(
    /^--upstream: must be an http or https address$/,
  );
});
