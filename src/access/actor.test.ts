import { describe, expect, it } from 'vitest';
import { register, signUp, tokens } from '../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../test/support/service.ts';
import { asId } from '../kernel/ids.ts';

const ip = '203.0.113.7';

/** Returns the newest events of a type, newest first, as an administrator sees them. */
const eventsOf = async (t: TestService, type: string): Promise<Json[]> =>
  (await t.call('GET', `/events?types=${type}`, { as: await t.admin() })).body;
const newestOf = async (t: TestService, type: string): Promise<Json> => (await eventsOf(t, type))[0];

describe('the actor of an event', () => {
  it('is the person for a session or an API token, and the agent for its own token', async () => {
    const t = await createTestService();
    const person = await signUp(t);
    const agent = await t.agent(person, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
    const spare = await t.agent(person);
    const rename = (as: string, name: string) =>
      t.call('PATCH', `/agents/${spare.id}`, { as, body: { name }, ip }).then((r) => expect(r.status).toBe(200));

    await rename(person.token, 'one');
    expect((await newestOf(t, 'agent.updated')).actor).toEqual({ kind: 'user', id: person.id, ip });
    const token = (await t.call('POST', '/api-tokens', { as: person, body: { name: 'ci' } })).body;
    await rename(token.token, 'two');
    expect((await newestOf(t, 'agent.updated')).actor).toEqual({
      kind: 'apiToken',
      id: token.id,
      userId: person.id,
      ip,
    });
    await rename(agent.token, 'three');
    expect((await newestOf(t, 'agent.updated')).actor).toEqual({ kind: 'agent', id: agent.id, ip });
  });

  it('of a change through a consent names agent, person, client and grant', async () => {
    const t = await createTestService();
    const person = await signUp(t);
    const spare = await t.agent(person);
    const client = await register(t);
    const { access_token } = await tokens(t, person, client, { scope: 'agents:write' });
    const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
    const r = await t.call('PATCH', `/agents/${spare.id}`, { as: access_token, body: { name: 'renamed' }, ip });
    expect(r.status).toBe(200);
    expect((await newestOf(t, 'agent.updated')).actor).toEqual({
      kind: 'accessToken',
      id: grant.agentId,
      userId: person.id,
      clientId: client.client_id,
      grantId: grant.id,
      ip,
    });
    expect((await newestOf(t, 'grant.created')).actor).toMatchObject({
      kind: 'user',
      id: person.id,
      clientId: client.client_id,
    });
  });

  it('is the application for a call in process, with the user that it names', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.legate.agents.create({ ownerId: owner.id, name: 'a', type: 'service' });
    expect((await newestOf(t, 'agent.created')).actor).toEqual({ kind: 'application', id: 'application' });
    await t.legate.as({ userId: asId('user', 'somebody') }).agents.revoke(agent.id);
    expect((await newestOf(t, 'agent.revoked')).actor).toEqual({
      kind: 'application',
      id: 'application',
      userId: 'somebody',
    });
    expect(() => t.legate.as({ userId: asId('user', '') })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED' }),
    );
  });

  it('is the system for a change that only the passing of time causes', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [{ resource: 'bank', actions: ['pay'], constraints: { requireApproval: true } }],
    });
    await t.authorize(agent, { action: 'pay', resource: 'bank' });
    expect((await newestOf(t, 'approval.requested')).actor).toMatchObject({ kind: 'agent', id: agent.id });
    t.clock.advance(301_000);
    const { expireApprovals } = await import('../authorization/approvals/expire-approvals.ts');
    await expireApprovals(t.legate.platform);
    expect((await newestOf(t, 'approval.resolved')).actor).toEqual({ kind: 'system', id: 'system' });
  });

  it('of the effects of a change is the actor of the change', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const from = await t.agent(owner, { permissions: [{ resource: 'db', actions: ['read'] }] });
    const to = await t.agent(owner);
    const body = { fromAgent: from.id, toAgent: to.id, permissions: [{ resource: 'db', actions: ['read'] }] };
    await t.call('POST', '/delegations', { as: owner, body });
    const admin = await t.admin();
    await t.call('DELETE', `/users/${owner.id}`, { as: admin, ip });
    const [revoked, ended] = [await newestOf(t, 'agent.revoked'), await newestOf(t, 'delegation.revoked')];
    expect(ended.data.reason).toBe('agent-revoked');
    for (const { actor } of [revoked, ended]) expect(actor).toMatchObject({ userId: admin.id, ip });
  });

  it('of a sign-in is the person; a failed sign-in has no actor, only the address of the request', async () => {
    const t = await createTestService();
    const { email, id } = await signUp(t);
    const signIn = (password: string) => t.call('POST', '/sign-in', { body: { email, password }, ip });
    await signIn('wrong');
    expect((await newestOf(t, 'auth.failed')).actor).toEqual({ kind: 'user', id: null, ip });
    await signIn('correct horse battery');
    expect((await newestOf(t, 'auth.signin')).actor).toEqual({ kind: 'user', id, ip });
  });

  it('has no address where addresses are not recorded', async () => {
    const t = await createTestService({ config: { multiSession: { trackIp: false } } });
    const owner = await t.user();
    const agent = await t.agent(owner);
    await t.call('POST', `/agents/${agent.id}/rotate`, { as: owner, ip });
    expect((await newestOf(t, 'agent.rotated')).actor).not.toHaveProperty('ip');
  });
});
