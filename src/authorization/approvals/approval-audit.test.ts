import { describe, expect, it } from 'vitest';
import { approve, ask, request, world } from '../../../test/support/approvals.ts';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService, dialect, FakeClock, type Json, type TestService } from '../../../test/support/service.ts';
import type { World } from '../../../test/support/world.ts';
import { approvals } from './index.ts';

describe('the audit log of an approval', () => {
  const entries = async (w: World, query = '', as: { token: string } = w.owner) =>
    (await w.t.call('GET', `/audit?agentId=${w.agent.id}${query}`, { as })).body;
  const lapse = (t: TestService) => approvals.upkeep?.(t.legate.platform);

  it('has an entry for each step, with the person, the call and the decision that requires approval', async () => {
    const w = await world();
    const { approvalId, auditId } = await request(w);
    const note = 'go: https://pay:hunter2@bank.example';
    await w.t.call('POST', `/approvals/${approvalId}/approve`, {
      as: w.owner,
      body: { note },
      headers: { 'user-agent': 'phone' },
      ip: '203.0.113.9',
    });
    await request(w);
    const [used, approved, asked] = await entries(w);
    expect([used.result, used.action, asked.id, asked.reason]).toEqual([
      'allowed',
      'pay',
      auditId,
      'APPROVAL_REQUIRED',
    ]);
    expect(approved).toEqual({
      id: expect.stringMatching(/^aud_/),
      agentId: w.agent.id,
      userId: w.owner.id,
      action: 'approve',
      resource: `legate:approvals:${approvalId}`,
      parameters: {
        approvalId,
        auditId,
        action: 'pay',
        resource: 'bank:transfer',
        resolvedBy: w.owner.id,
        note: expect.not.stringContaining('hunter2'),
      },
      result: 'allowed',
      durationMs: 0,
      tokensCost: 0,
      timestamp: '2030-01-15T10:10:00.000Z',
      reason: 'APPROVAL_GRANTED',
      delegationIds: [],
      ip: null,
      userAgent: null,
      seq: asked.seq + 2,
      askedBy: { kind: 'apiToken', id: expect.stringMatching(/^tok_/), userId: w.owner.id },
    });
    const second = await request(w);
    await w.t.call('POST', `/approvals/${second.approvalId}/deny`, { as: await w.t.admin() });
    const [denied] = await entries(w, '&actions=deny&result=denied');
    expect([denied.reason, denied.parameters.approvalId]).toEqual(['APPROVAL_DENIED', second.approvalId]);
    expect(await entries(w, '&actions=approve', w.agent)).toEqual([approved]);
    expect(await entries(w, '', await w.t.user())).toEqual([]);
    expect((await w.t.call('GET', `/audit/${approved.id}`, { as: await w.t.user() })).status).toBe(404);
    const { totalAuditEntries } = (await w.t.call('GET', '/dashboard/stats', { as: w.owner })).body;
    expect(totalAuditEntries).toBe((await entries(w)).length);
  });

  it('records an expired approval once with two instances', async () => {
    const w = await world();
    // Two processes can share a SQLite file, but two services in one process cannot write to it concurrently.
    const other = dialect === 'postgres' ? await createTestService({ sameDatabaseAs: w.t }) : w.t;
    const waiting = (await request(w)).approvalId;
    const given = (await request(w, { ...ask, resource: 'bank:b' })).approvalId;
    const used = (await request(w, { ...ask, resource: 'bank:c' })).approvalId;
    for (const id of [given, used]) await approve(w, id);
    await request(w, { ...ask, resource: 'bank:c' });
    w.t.clock.advance(299_999);
    await lapse(w.t);
    expect(await entries(w, '&actions=expire')).toEqual([]);
    w.t.clock.advance(1);
    const before = (await w.t.call('GET', '/approvals?status=expired', { as: w.owner })).body;
    expect(before.map((a: { id: string }) => a.id)).toEqual([given, waiting]);
    await Promise.all([lapse(w.t), lapse(other), lapse(w.t)]);
    await lapse(other);
    const lapsed = await entries(w, '&actions=expire');
    expect(lapsed.map((e: Json) => [e.result, e.reason, e.parameters.approvalId, e.parameters.resolvedBy])).toEqual([
      ['denied', 'APPROVAL_EXPIRED', given, w.owner.id],
      ['denied', 'APPROVAL_EXPIRED', waiting, null],
    ]);
    const told = (await eventsOf(w.t)).filter((e) => e.type === 'approval.resolved' && e.data['status'] === 'expired');
    expect(told.map((e) => e.data)).toEqual([
      { approvalId: waiting, agentId: w.agent.id, action: 'pay', resource: 'bank:transfer', status: 'expired' },
      { approvalId: given, agentId: w.agent.id, action: 'pay', resource: 'bank:b', status: 'expired' },
    ]);
    expect((await w.t.call('GET', '/approvals?status=expired', { as: w.owner })).body).toEqual(before);
    expect((await request(w, { ...ask, resource: 'bank:b' })).reason).toBe('APPROVAL_REQUIRED');
  });

  it('expires more approvals than fit in one change', async () => {
    const w = await world();
    await Promise.all(Array.from({ length: 130 }, (_, i) => request(w, { ...ask, resource: `bank:${i}` })));
    w.t.clock.advance(300_000);
    await lapse(w.t);
    expect(new Set((await entries(w, '&actions=expire&limit=1000')).map((e: Json) => e.resource)).size).toBe(130);
  });

  it('has no entry before the time of the database, even if the clock of an instance is ahead of it', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    const fast = new FakeClock();
    fast.advance(20_000);
    const other = await createTestService({ sameDatabaseAs: w.t, clock: fast, databaseClock: w.t.clock });
    w.t.clock.advance(290_000);
    fast.advance(290_000);
    const { changes } = other.legate.platform.ledger.stats;
    await lapse(other);
    expect(other.legate.platform.ledger.stats.changes - changes).toBeLessThanOrEqual(1);
    expect(await entries(w, '&actions=expire')).toEqual([]);
    w.t.clock.advance(10_000);
    fast.advance(10_000);
    await lapse(other);
    expect(await entries(w, '&actions=expire')).toMatchObject([{ resource: `legate:approvals:${approvalId}` }]);
  });

  it('cannot be forged by an agent that asks for the action and resource of an entry', async () => {
    const w = await world();
    const forger = await w.t.agent(w.owner, { permissions: [{ resource: '*', actions: ['*'] }] });
    const { approvalId } = await request(w);
    await w.t.authorize(forger, {
      action: 'approve',
      resource: `legate:approvals:${approvalId}`,
      arguments: { approvalId, resolvedBy: w.owner.id },
    });
    const [forged] = (await w.t.call('GET', '/audit?actions=approve', { as: w.owner })).body;
    expect([forged.agentId, forged.reason]).toEqual([forger.id, null]);
    expect((await request(w)).allowed).toBe(false);
  });

  it('is part of the explanation of the call that waited', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    await w.t.call('POST', `/approvals/${approvalId}/deny`, { as: w.owner });
    const [denied] = await entries(w, '&actions=deny');
    const r = await w.t.call('GET', `/audit/${denied.id}/explain`, { as: w.owner });
    expect([r.status, r.body.entry, r.body.policyChanged]).toEqual([200, denied, false]);
    expect(r.body.trace.entries).toMatchObject([{ resource: 'bank:*', actions: ['pay'] }]);
    expect(JSON.stringify(r.body.trace)).toContain('approval-required');
  });
});
