import { expect } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from './service.ts';

export const gh = (actions = ['read', 'write']) => [{ resource: 'mcp:gh:*', actions }];

export interface World {
  t: TestService;
  owner: TestUser;
  a: TestAgent;
  b: TestAgent;
  c: TestAgent;
  d: TestAgent;
  e: TestAgent;
}

export async function world(): Promise<World> {
  const t = await createTestService();
  const owner = await t.user();
  const [a, b, c, d, e] = [
    await t.agent(owner, { permissions: gh() }),
    await t.agent(owner),
    await t.agent(owner),
    await t.agent(owner),
    await t.agent(owner),
  ];
  return { t, owner, a, b, c, d, e };
}

export const delegate = (
  w: World,
  from: TestAgent,
  to: TestAgent,
  more: Record<string, unknown> = {},
  as: { token: string } = w.owner,
) =>
  w.t.call('POST', '/delegations', {
    as,
    body: { fromAgent: from.id, toAgent: to.id, permissions: gh(['read']), ...more },
  });

export const may = async (w: World, agent: TestAgent, action = 'read', resource = 'mcp:gh:x') => {
  const r = await w.t.authorize(agent, { action, resource });
  expect(r.status).toBe(200);
  return r.body.allowed || r.body.reason;
};
