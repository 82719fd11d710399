import { newWorld, type World } from './world.ts';

export const ask = {
  action: 'pay',
  resource: 'bank:transfer',
  arguments: { to: 'acme', amount: 10, password: 'hunter2-very-secret' },
};

export const world = (constraints: object = {}): Promise<World> =>
  newWorld(
    { permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true, ...constraints } }] },
    { config: { approvals: { maxWaitingPerAgent: 1000 } } },
  );

export const request = async ({ t, agent }: World, body: object = ask) =>
  (await t.authorize(agent, body as Record<string, unknown>)).body;

export const approve = ({ t, owner }: World, id: string, as: { token: string } = owner, body?: object) =>
  t.call('POST', `/approvals/${id}/approve`, { as, ...(body ? { body } : {}) });
