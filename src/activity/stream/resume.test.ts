import { connect, type Socket } from 'node:net';
import { EventSource } from 'eventsource';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { untilPasses } from '../../../test/support/until.ts';
import { type Listening, listen } from '../../http/node.ts';

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
let listening: Listening;
let base: string;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agent = await t.agent(owner);
  listening = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  base = `http://127.0.0.1:${listening.port}/api/legate/events/stream`;
});
afterAll(async () => {
  await listening.stop();
});

const decide = async (): Promise<string> =>
  `evt_${(await t.authorize(agent, { action: 'read', resource: 'x' })).body.auditId.slice(4)}`;

it('a plain EventSource with a ticket receives live events', async () => {
  const { ticket } = (await t.call('POST', '/events/ticket', { as: agent })).body;
  const source = new EventSource(`${base}?ticket=${ticket}`);
  const seen: Json[] = [];
  source.addEventListener('audit', (event) => seen.push({ id: event.lastEventId, data: JSON.parse(event.data) }));
  await new Promise((resolve, reject) => {
    source.addEventListener('open', resolve, { once: true });
    source.addEventListener('error', reject, { once: true });
  });
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await decide());
  await expect.poll(() => seen.length).toBeGreaterThanOrEqual(20);
  source.close();
  expect(seen.map((s) => s.id)).toEqual(ids);
  expect(seen.map((s) => s.data.id)).toEqual(ids);
});

it('a reader that accepts nothing for 5 s is disconnected and frees its slot', async () => {
  const until = async (holds: () => Promise<boolean>): Promise<void> => {
    const deadline = Date.now() + 8000;
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error('did not happen');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await until(async () => t.legate.events.connectionCount() === 0);
  // Only this connection is observed, because an earlier EventSource may still close and open connections.
  const accepted: Socket[] = [];
  listening.server.on('connection', (one: Socket) => accepted.push(one));
  const socket = connect(listening.port, '127.0.0.1').on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.pause();
  socket.write(`GET /api/legate/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\n\r\n`);
  await until(async () => t.legate.events.connectionCount() === 1);
  // The data exceeds the buffers at both ends of a connection.
  for (let i = 0; i < 40; i++)
    await t.legate.events.emit({ type: 'cost.recorded', agentId: agent.id, data: { text: 'x'.repeat(500_000) } });
  const printed = (['error', 'info', 'warn', 'log'] as const).map((level) => vi.spyOn(console, level));
  const now = performance.now.bind(performance);
  const begun = now();
  const faster = vi.spyOn(performance, 'now').mockImplementation(() => now() + 10 * (now() - begun));
  await until(async () => t.legate.events.connectionCount() === 0);
  faster.mockRestore();
  await until(async () => accepted.some((one) => one.remotePort === socket.localPort && one.destroyed));
  socket.destroy();
  expect(printed.flatMap((level) => level.mock.calls)).toEqual([]);
  vi.restoreAllMocks();
});

it('a response that is never read frees its slot, and ends immediately if it is read later', async () => {
  const before = t.legate.events.connectionCount();
  const answer = await t.legate.fetch(new Request(base, { headers: { authorization: `Bearer ${agent.token}` } }));
  expect([answer.status, t.legate.events.connectionCount()]).toEqual([200, before + 1]);
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 6000);
  await untilPasses(() => expect(t.legate.events.connectionCount()).toBe(before), { timeout: 60_000 });
  later.mockRestore();
  expect(await answer.text()).toMatch(/^retry: 2000\n: connected\n\n$/);
});
