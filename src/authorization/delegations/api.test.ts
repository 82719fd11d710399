import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';

async function world() {
  const t = await createTestService();
  const ownerId = (await t.user()).id;
  const agent = async (resource?: string) =>
    (
      await t.legate.agents.create({
        ownerId,
        name: 'agent',
        type: 'service',
        permissions: resource ? [{ resource, actions: ['read'] }] : [],
      })
    ).id;
  const fromAgent = await agent('a:*');
  const toAgent = await agent();
  const may = async (): Promise<boolean> =>
    (await t.legate.check({ agentId: toAgent, action: 'read', resource: 'a:b' })).allowed;
  return {
    t,
    fromAgent,
    toAgent,
    may,
    input: { fromAgent, toAgent, permissions: [{ resource: 'a:b', actions: ['read'] }] },
  };
}

describe('legate.delegations', () => {
  it('creates, lists, reads and revokes, and each change is effective for the next decision', async () => {
    const { t, fromAgent, toAgent, may, input } = await world();
    expect(await may()).toBe(false);
    const made = await t.legate.delegations.create(input);
    expect(made).toMatchObject({ id: expect.stringMatching(/^dlg_/), fromAgent, toAgent, depth: 1, expiresAt: null });
    expect(await may()).toBe(true);
    expect(await t.legate.delegations.list({ toAgent })).toEqual([made]);
    expect(await t.legate.delegations.list({ fromAgent: toAgent })).toEqual([]);
    expect(await t.legate.delegations.get(made.id)).toEqual(made);
    await t.legate.delegations.revoke(made.id);
    expect(await may()).toBe(false);
    expect(await t.legate.delegations.list()).toEqual([]);
    expect((await eventsOf(t)).map((e) => e.type).filter((type) => type.startsWith('delegation.'))).toEqual([
      'delegation.created',
      'delegation.revoked',
    ]);
  });

  it('throws the errors of the endpoints', async () => {
    const { t, input, fromAgent } = await world();
    const { delegations } = t.legate;
    await expect(delegations.create({ ...input, more: 1 } as never)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      status: 400,
    });
    await expect(delegations.create({ ...input, toAgent: fromAgent })).rejects.toMatchObject({
      code: 'DELEGATION_TO_SELF',
      status: 422,
    });
    await expect(
      delegations.create({ ...input, permissions: [{ resource: 'b', actions: ['read'] }] }),
    ).rejects.toMatchObject({ code: 'INSUFFICIENT_PERMISSIONS', status: 403 });
    await expect(delegations.create({ ...input, toAgent: 'agt_none' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      status: 404,
    });
    await expect(delegations.get('dlg_none')).rejects.toMatchObject({ code: 'DELEGATION_NOT_FOUND', status: 404 });
    await expect(delegations.revoke('dlg_none')).rejects.toMatchObject({ code: 'DELEGATION_NOT_FOUND', status: 404 });
  });
});
