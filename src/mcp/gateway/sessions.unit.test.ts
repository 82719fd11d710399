import { expect, it } from 'vitest';
import { Session } from './sessions.ts';

it('of two checks of what is permitted, the later one counts, whichever ends last', async () => {
  const given = { id: 's', caller: 'c', agent: 'agt_a', key: 'k', capabilities: {}, revision: '', offered: {} };
  const session = new Session(given as never);
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
