import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const permissions = [
  { resource: 'db:*', actions: ['read'] },
  { resource: 'pay:*', actions: ['*'], constraints: { requireApproval: true } },
];

it('the tenant of a deleted person still selects what their agents did', async () => {
  const t = await createTestService();
  const [red, blue] = [await t.tenant(), await t.tenant()];
  const [admin, person, colleague] = [
    await t.admin(),
    await t.user({ tenantId: red }),
    await t.user({ tenantId: blue }),
  ];
  const [agent, other] = [await t.agent(person, { permissions }), await t.agent(colleague, { permissions })];
  for (const as of [agent, other])
    for (const resource of ['db:a', 'pay:b'])
      await t.call('POST', '/authorize', { as, body: { action: 'read', resource } });
  await t.call('POST', '/costs', { as: person, body: { agentId: agent.id, amount: 3 } });
  const found = async (filter: string): Promise<unknown> => {
    const get = async (path: string, more = '') =>
      (await t.call('GET', `${path}?${filter}${more}`, { as: admin })).body;
    return {
      agents: (await get('/agents')).length,
      audit: (await get('/audit', '&action=read')).length,
      events: (await get('/events', '&action=read')).length,
      approvals: (await get('/approvals')).length,
      costs: (await get('/costs/summary')).count,
      called: (await get('/dashboard/stats')).topAgentsByCallCount.length,
    };
  };
  const [all, none] = [
    { agents: 1, audit: 2, events: 2, approvals: 1, costs: 1, called: 1 },
    { agents: 0, audit: 0, events: 0, approvals: 0, costs: 0, called: 0 },
  ];
  expect(await found(`tenantId=${red}`)).toEqual(all);
  expect((await t.call('DELETE', `/users/${person.id}`, { as: admin })).status).toBe(204);
  expect(await found(`tenantId=${red}`)).toEqual(all);
  expect(await found(`tenantId=${red}&ownerId=${person.id}`)).toEqual(all);
  expect(await found(`tenantId=${blue}&ownerId=${person.id}`)).toEqual(none);
  expect(await found(`tenantId=${blue}`)).toEqual({ ...all, costs: 0 });
});
