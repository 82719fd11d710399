import { expect, it } from 'vitest';
import { GatewayTasks } from './tasks.ts';

const auth = { agentId: 'agt_a', userId: 'usr_a', token: '' };

it('the outcome of a task is recorded once, also if its end ends the connection', () => {
  const outcomes: unknown[] = [];
  const tasks = new GatewayTasks({} as never, ({ outcome }) => outcomes.push(outcome));
  // While the gateway stops, a connection ends when nothing holds it any more.
  const hold = { isOpen: true, release: () => tasks.ended('k') };
  const call = { auth, auditId: undefined, server: 'x', tool: 'x', begun: 0, definition: undefined };
  const given = { form: 'utility' as const, key: 'k', call, notify: undefined };
  tasks.create({ taskId: 't', status: 'completed' }, hold, given as never);
  expect(outcomes).toEqual(['ok']);
});
