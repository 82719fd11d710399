import { expect, it } from 'vitest';
import type { McpAuth } from '../guard/guard-options.ts';
import { ClientSessions, Session } from './sessions.ts';

const authOf = (userId: string): McpAuth => ({
  token: '',
  clientId: '',
  scopes: [],
  expiresAt: 0,
  resource: new URL('http://localhost/gateway/notes/mcp'),
  agentId: `agt_${userId}`,
  userId,
  extra: { agentId: `agt_${userId}`, userId },
});
const given = (id: string) => ({ id, key: id, capabilities: {}, revision: '2025-11-25', offered: {} });

it('beyond 20,000 sessions, the person with the most loses those that were unused for longest', () => {
  const sessions = new ClientSessions();
  const [ana, ben, cleo] = [authOf('ana'), authOf('ben'), authOf('cleo')];
  sessions.open(ana, given('ana'));
  for (let i = 0; i < 19_999; i++) sessions.open(ben, given(`ben-${i}`));
  expect(sessions.find(ben, 'ben-0')).toBeDefined();
  for (let i = 0; i < 5; i++) sessions.open(ben, given(`later-${i}`));
  sessions.open(cleo, given('cleo'));
  const ended = [...Array(10).keys()].filter((i) => !sessions.find(ben, `ben-${i}`));
  expect(ended).toEqual([1, 2, 3, 4, 5, 6]);
  for (const [auth, id] of [
    [ana, 'ana'],
    [cleo, 'cleo'],
    [ben, 'later-0'],
  ] as const)
    expect(sessions.find(auth, id)).toBeDefined();
  expect(sessions.find(cleo, 'ana')).toBeUndefined();

  // An ended session makes room.
  sessions.end('ana');
  sessions.open(ana, given('again'));
  expect(sessions.find(ben, 'ben-7')).toBeDefined();
});

it('beyond 20,000 sessions of as many people, the one that was unused for longest ends', () => {
  const sessions = new ClientSessions();
  for (let i = 0; i < 20_000; i++) sessions.open(authOf(`p${i}`), given(`s${i}`));
  expect(sessions.find(authOf('p0'), 's0')).toBeDefined();
  sessions.open(authOf('last'), given('last'));
  expect(sessions.find(authOf('last'), 'last')).toBeDefined();
  expect([0, 1, 2].map((i) => sessions.find(authOf(`p${i}`), `s${i}`) !== undefined)).toEqual([true, false, true]);
});

it('of two checks of what is permitted, the later one counts, whichever ends last', async () => {
  const session = new Session({ ...given('s'), caller: 'c', person: 'p', agent: 'agt_a' as never });
  const sent: unknown[] = [];
  session.streams.add({ send: (message: unknown) => sent.push(message) } as never);
  const notify = session.taskNotifier('pay');
  let finish = (_permitted: boolean[]): void => {};
  session.permitted = () => new Promise((resolve) => (finish = resolve));
  const earlier = session.narrow();
  session.permitted = async () => [false];
  await session.narrow();
  finish([true]);
  await earlier;
  notify({ jsonrpc: '2.0', method: 'notifications/tasks/status' });
  expect(sent).toEqual([]);
});
