import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';
import { secretHash } from '../../kernel/secrets.ts';

describe('legate.agents', () => {
  it('behaves like the endpoints, with the same shapes', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { agents } = t.legate;
    const { token, ...made } = await agents.create({
      ownerId: alice.id,
      name: 'a',
      type: 'service',
      permissions: [{ resource: 'a:*', actions: ['read'] }],
      expiresAt: '2031-01-01T00:00:00Z',
    });
    expect((await t.call('GET', `/agents/${made.id}`, { as: token })).body).toEqual(made);
    expect(await agents.get(made.id)).toEqual(made);
    expect(await agents.list()).toEqual([made]);
    expect(await agents.list({ status: 'revoked' })).toEqual([]);
    expect(await agents.permissions(made.id)).toEqual([
      { resource: 'a:*', actions: ['read'], source: { type: 'own' }, lastUsedAt: null },
    ]);
    expect(await agents.update(made.id, { name: 'b', expiresAt: null })).toMatchObject({ name: 'b', expiresAt: null });
    const rotated = await agents.rotate(made.id);
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(401);
    expect((await t.call('GET', '/agents', { as: rotated.token })).status).toBe(200);
    await agents.revoke(made.id, 'left the company');
    expect((await t.call('GET', '/agents', { as: rotated.token })).status).toBe(401);
    expect((await eventsOf(t, made.id)).map((e) => [e.type, e.data.reason])).toEqual([
      ['agent.created', undefined],
      ['agent.updated', undefined],
      ['agent.rotated', undefined],
      ['agent.revoked', 'left the company'],
    ]);
  });

  it('accepts a Date for a time', async () => {
    const t = await createTestService();
    const { agents, delegations, audit, apiTokens } = t.legate;
    const ownerId = (await t.user()).id;
    const at = '2030-01-15T11:00:00.000Z';
    const giver = await agents.create({
      ownerId,
      name: 'a',
      type: 'service',
      permissions: [{ resource: 'a:*', actions: ['read'] }],
      expiresAt: new Date(at),
    });
    const taker = await agents.create({ ownerId, name: 'b', type: 'service' });
    expect(giver.expiresAt).toBe(at);
    expect((await agents.update(taker.id, { expiresAt: new Date(at) })).expiresAt).toBe(at);
    const given = {
      fromAgent: giver.id,
      toAgent: taker.id,
      permissions: [{ resource: 'a:b', actions: ['read'] }],
      expiresAt: new Date(at),
    };
    expect((await delegations.create(given)).expiresAt).toBe(at);
    expect((await apiTokens.create(ownerId, { name: 'a', expiresAt: new Date(at) })).expiresAt).toBe(at);
    await t.legate.check({ agentId: giver.id, action: 'read', resource: 'a:b' });
    const now = t.clock.now();
    expect((await audit.query({ since: new Date(now) })).entries).toHaveLength(1);
    expect((await audit.query({ until: new Date(now) })).entries).toEqual([]);
    expect(await audit.export({ format: 'json', since: new Date(now + 1) }).json()).toEqual([]);
    await expect(agents.update(taker.id, { expiresAt: new Date('never') })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { issues: [{ path: 'expiresAt' }] },
    });
  });

  it('lists beyond one page', async () => {
    const t = await createTestService({ config: { agents: { maxPerOwner: 2000 } } });
    const alice = await t.user();
    const { id } = await t.agent(alice);
    const db = t.legate.platform.database.write;
    const row = await db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const copies = Array.from({ length: 1000 }, (_, i) => ({
      ...row,
      id: asId('agent', `agt_${String(i).padStart(26, '0')}`),
      token_hash: secretHash(`h${i}`),
    }));
    for (let at = 0; at < copies.length; at += 100)
      await db
        .insertInto('agents')
        .values(copies.slice(at, at + 100))
        .execute();
    expect(await t.legate.agents.list({ ownerId: alice.id })).toHaveLength(1001);
    expect((await t.call('GET', '/agents', { as: alice })).body).toHaveLength(1000);
  });

  it('throws the errors of the endpoints', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { agents } = t.legate;
    await expect(agents.create({ ownerId: 'usr_nobody', name: 'a', type: 'service' })).rejects.toMatchObject({
      code: 'OWNER_NOT_FOUND',
      status: 422,
    });
    await expect(agents.create({ ownerId: alice.id, name: '', type: 'service' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      status: 400,
    });
    await expect(agents.get('agt_00000000000000000000000000')).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      status: 404,
    });
    await expect(agents.update('x', { name: 'b' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await expect(agents.revoke('x')).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    const { id } = await agents.create({ ownerId: alice.id, name: 'a', type: 'service' });
    await agents.revoke(id);
    await expect(agents.rotate(id)).rejects.toMatchObject({ code: 'AGENT_REVOKED', status: 409 });
  });
});
