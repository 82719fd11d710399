import { createTestService, type TestAgent, type TestService, type TestUser } from './service.ts';

export const ask = {
  action: 'pay',
  resource: 'bank:transfer',
  arguments: { to: 'acme', amount: 10, password: 'hunter2-very-secret' },
};

export interface World {
  t: TestService;
  owner: TestUser;
  agent: TestAgent;
}

export async function world(constraints: object = {}): Promise<World> {
  const t = await createTestService({ config: { approvals: { maxWaitingPerAgent: 1000 } } });
  const owner = await t.user();
  const agent = await t.agent(owner, {
    permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true, ...constraints } }],
  });
  return { t, owner, agent };
}

export const request = async ({ t, agent }: World, body: object = ask) =>
  (await t.authorize(agent, body as Record<string, unknown>)).body;

export const approve = ({ t, owner }: World, id: string, as: { token: string } = owner, body?: object) =>
  t.call('POST', `/approvals/${id}/approve`, { as, ...(body ? { body } : {}) });
