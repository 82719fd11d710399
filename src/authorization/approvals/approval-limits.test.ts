import { describe, expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';

describe('approvals.maxWaitingPerAgent', () => {
  it('limits waiting calls of an agent exactly, under parallel calls; identical calls share one', async () => {
    const t = await createTestService({ config: { approvals: { maxWaitingPerAgent: 3 } } });
    const owner = await t.user();
    const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
    const [agent, other] = [await t.agent(owner, { permissions }), await t.agent(owner, { permissions })];
    const pay = async (amount: number, as = agent): Promise<Json> =>
      (await t.authorize(as, { action: 'pay', resource: 'bank:x', arguments: { amount } })).body;
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => pay(i)));
    expect(answers.every((a) => a.reason === 'APPROVAL_REQUIRED' && a.auditId)).toBe(true);
    const waiting = answers.filter((a) => a.approvalId !== undefined);
    expect(waiting).toHaveLength(3);
    for (const { approvalId, approvalLimit } of answers)
      expect(approvalLimit).toEqual(approvalId === undefined ? { per: 'agent', limit: 3 } : undefined);
    expect((await t.call('GET', '/approvals?status=pending', { as: owner })).body).toHaveLength(3);
    expect((await pay(answers.indexOf(waiting[0]))).approvalId).toBe(waiting[0].approvalId);
    expect((await pay(50, other)).approvalId).toMatch(/^apr_/);
    await t.call('POST', `/approvals/${waiting[0].approvalId}/deny`, { as: owner });
    expect((await pay(51)).approvalId).toMatch(/^apr_/);
    expect((await pay(52)).approvalId).toBeUndefined();
    t.clock.advance(300_000);
    expect((await pay(53)).approvalId).toMatch(/^apr_/);
  });
});

describe('approvals.maxWaitingPerOwner', () => {
  it('limits waiting calls of all agents of an owner exactly, under parallel calls, and names the limit', async () => {
    const t = await createTestService({ config: { approvals: { maxWaitingPerAgent: 3, maxWaitingPerOwner: 4 } } });
    const [owner, stranger] = [await t.user(), await t.user()];
    const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
    const agents = await Promise.all([1, 2, 3].map(() => t.agent(owner, { permissions })));
    const pay = async (agent: Json, amount: number): Promise<Json> =>
      (await t.authorize(agent, { action: 'pay', resource: 'bank:x', arguments: { amount } })).body;
    const answers = await Promise.all(agents.flatMap((agent) => [1, 2].map((amount) => pay(agent, amount))));
    expect(answers.filter((a) => a.approvalId !== undefined)).toHaveLength(4);
    const refused = answers.filter((a) => a.approvalId === undefined);
    expect(refused.map(({ reason, approvalLimit }) => [reason, approvalLimit])).toEqual(
      Array.from({ length: 2 }, () => ['APPROVAL_REQUIRED', { per: 'owner', limit: 4 }]),
    );
    expect((await pay(await t.agent(stranger, { permissions }), 1)).approvalId).toMatch(/^apr_/);
    const [first] = answers.filter((a) => a.approvalId !== undefined);
    await t.call('POST', `/approvals/${first?.approvalId}/deny`, { as: owner });
    expect((await pay(agents[0] as Json, 9)).approvalLimit?.per).not.toBe('owner');
  });
});
