import { describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestUser } from '../../../test/support/service.ts';

const t = await createTestService({ lasting: true });
const owner = await t.user();

const entryOf = async (id: string, as: TestUser = owner): Promise<Json> =>
  (await t.call('GET', `/audit/${id}`, { as })).body;
const asked = async (as: { token: string }, body: Json): Promise<Json> =>
  entryOf((await t.authorize(as, { action: 'read', ...body })).body.auditId);
const agentWith = (resource: string, constraints?: object) =>
  t.agent(owner, { permissions: [{ resource, actions: ['read'], ...(constraints ? { constraints } : {}) }] });

describe('an audit entry names the caller and the permission', () => {
  it('names the permission, and no caller if the agent used its own token', async () => {
    const agent = await agentWith('db:*');
    const entry = await asked(agent, { resource: 'db:x' });
    expect(entry.permission).toEqual({ resource: 'db:*', source: { type: 'own' } });
    expect(entry).not.toHaveProperty('askedBy');
    expect(entry).not.toHaveProperty('approvalId');
    const refused = await asked(agent, { resource: 'files:x' });
    expect(refused.reason).toBe('NO_PERMISSION');
    expect(refused).not.toHaveProperty('permission');
  });

  it.each(['{"p":1}:*', '{odd', 'null'])('shows the pattern %s as it was written', async (resource) => {
    const agent = await agentWith(resource);
    const entry = await asked(agent, { resource: resource.replace('*', 'x') });
    expect(entry.permission).toEqual({ resource, source: { type: 'own' } });
  });

  it('names the API token with its user, another agent and the application', async () => {
    const agent = await agentWith('db:*');
    const question = { agentId: agent.id, resource: 'db:x' };
    const byToken = await asked(owner, question);
    expect(byToken.askedBy).toEqual({ kind: 'apiToken', id: expect.stringMatching(/^tok_/), userId: owner.id });
    const gateway = await t.agent(owner, { permissions: [{ resource: 'legate:authorize', actions: ['check'] }] });
    expect((await asked(gateway, question)).askedBy).toEqual({ kind: 'agent', id: gateway.id });
    const { auditId } = await t.legate.authorize({ ...question, action: 'read' });
    expect((await entryOf(auditId as string)).askedBy).toEqual({ kind: 'application', id: 'application' });
  });

  it('names the chain of the permission that allowed the call, or of the one whose limit refused it', async () => {
    const root = await agentWith('db:*', { maxCallsPerHour: 1 });
    const child = await t.agent(owner);
    const permissions = [{ resource: 'db:x', actions: ['read'] }];
    const made = await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: root.id, toAgent: child.id, permissions },
    });
    const permission = { resource: 'db:x', source: { type: 'delegation', delegationIds: [made.body.id] } };
    expect(await asked(child, { resource: 'db:x' })).toMatchObject({ result: 'allowed', permission });
    expect(await asked(child, { resource: 'db:x' })).toMatchObject({
      result: 'rate_limited',
      permission,
      delegationIds: [],
    });
  });

  it('names only the approval that was used', async () => {
    const agent = await agentWith('bank:*', { requireApproval: true });
    const question = { action: 'read', resource: 'bank:x', arguments: { secret: 'hunter2' } };
    const { approvalId, auditId } = (await t.authorize(agent, question)).body;
    expect(await entryOf(auditId)).not.toHaveProperty('approvalId');
    await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner });
    const { auditId: used } = (await t.authorize(agent, question)).body;
    expect(await entryOf(used)).toMatchObject({ approvalId, permission: { resource: 'bank:*' } });
  });

  it('has them in the list, the JSON exports, the events and the in-process API alike', async () => {
    const agent = await agentWith('db:*');
    const entry = await asked(owner, { agentId: agent.id, resource: 'db:x' });
    const query = `agentId=${agent.id}`;
    expect((await t.call('GET', `/audit?${query}`, { as: owner })).body).toEqual([entry]);
    expect((await t.call('GET', `/audit/export?format=json&${query}`, { as: owner })).body).toEqual([entry]);
    const lines = (await t.call('GET', `/audit/export?format=ndjson&${query}`, { as: owner })).text;
    expect(JSON.parse(lines)).toEqual(entry);
    expect(await t.legate.audit.get(entry.id)).toEqual(entry);
    const [event] = (await t.call('GET', `/events?types=audit&${query}`, { as: owner })).body;
    expect(event.data).toEqual(entry);
  });
});
