import { expect, it } from 'vitest';
import { serversOf } from './servers.ts';

const upstream = 'https://mcp.example.com/mcp';

it('--oauth makes each person sign in to the server, and does not go with a file of headers', () => {
  expect(serversOf({ name: 'github', upstream, oauth: true })).toEqual({
    github: { url: upstream, headers: {}, legate: { auth: { type: 'oauth' } } },
  });
  expect(() => serversOf({ name: 'github', upstream, oauth: true, 'header-file': 'x' })).toThrow('--oauth');
  expect(() => serversOf({ command: ['x'], oauth: true })).toThrow('--upstream');
});
