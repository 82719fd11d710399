import { expect, it, onTestFinished } from 'vitest';
import { channelOf } from './list-tools.ts';
import { CallTimedOut, InputNotRead, Peer } from './peer.ts';
import { type GatewayServer, parseServers } from './servers-file.ts';

it('a few megabytes wait for a process that does not read its input; what follows is not sent', async () => {
  const args = ['-e', 'setInterval(() => {}, 1000)'];
  const [server] = parseServers({ mcpServers: { x: { command: process.execPath, args } } }, {});
  const peer = new Peer(channelOf(server as GatewayServer));
  onTestFinished(() => peer.close(true));
  const params = { text: 'x'.repeat(1_000_000) };
  const sent = Array.from({ length: 20 }, () => peer.request('tools/call', params, { timeoutMs: 1000 }));
  const errors = (await Promise.allSettled(sent)).map((one) => ('reason' in one ? one.reason : undefined));
  expect(errors.slice(0, 8).every((error) => error instanceof CallTimedOut)).toBe(true);
  const refused = errors.slice(9);
  expect(refused.every((error) => error instanceof InputNotRead)).toBe(true);
  expect(refused[0].message).toBe('it does not read its input');
});
