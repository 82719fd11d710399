import { expect } from 'vitest';
import type { TestAgent } from './service.ts';
import { newWorldOf, type World } from './world.ts';

export const gh = (actions = ['read', 'write']) => [{ resource: 'mcp:gh:*', actions }];

export type DelegationWorld = World<'a' | 'b' | 'c' | 'd' | 'e'>;

export const world = (): Promise<DelegationWorld> =>
  newWorldOf({ owner: {} }, { a: { permissions: gh() }, b: {}, c: {}, d: {}, e: {} });

export const delegate = (
  w: DelegationWorld,
  from: TestAgent,
  to: TestAgent,
  more: Record<string, unknown> = {},
  as: { token: string } = w.owner,
) =>
  w.t.call('POST', '/delegations', {
    as,
    body: { fromAgent: from.id, toAgent: to.id, permissions: gh(['read']), ...more },
  });

export const may = async (w: DelegationWorld, agent: TestAgent, action = 'read', resource = 'mcp:gh:x') => {
  const r = await w.t.authorize(agent, { action, resource });
  expect(r.status).toBe(200);
  return r.body.allowed || r.body.reason;
};
