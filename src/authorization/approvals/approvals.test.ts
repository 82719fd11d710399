import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import {
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { approvals } from './index.ts';

const ask = {
  action: 'pay',
  resource: 'bank:transfer',
  arguments: { to: 'acme', amount: 10, password: 'hunter2-very-secret' },
};

interface World {
  t: TestService;
  owner: TestUser;
  agent: TestAgent;
}
async function world(constraints: object = {}): Promise<World> {
  const t = await createTestService({ config: { approvals: { maxWaitingPerAgent: 1000 } } });
  const owner = await t.user();
  const agent = await t.agent(owner, {
    permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true, ...constraints } }],
  });
  return { t, owner, agent };
}
const request = async ({ t, agent }: World, body: object = ask) =>
  (await t.authorize(agent, body as Record<string, unknown>)).body;
const approve = ({ t, owner }: World, id: string, as: { token: string } = owner, body?: object) =>
  t.call('POST', `/approvals/${id}/approve`, { as, ...(body ? { body } : {}) });

describe('a decision that requires approval', () => {
  it('is denied with APPROVAL_REQUIRED and an approvalId; approved, the identical call works once', async () => {
    const w = await world();
    const denied = await request(w);
    expect(denied).toEqual({
      allowed: false,
      auditId: expect.stringMatching(/^aud_/),
      reason: 'APPROVAL_REQUIRED',
      approvalId: expect.stringMatching(/^apr_/),
    });
    expect(await request(w)).toMatchObject({ allowed: false, approvalId: denied.approvalId });
    expect((await approve(w, denied.approvalId, w.owner, { note: 'go' })).status).toBe(200);
    const reordered = { ...ask, arguments: { password: 'hunter2-very-secret', amount: 10, to: 'acme' } };
    expect(await request(w, reordered)).toEqual({ allowed: true, auditId: expect.any(String) });
    const again = await request(w);
    expect(again.reason).toBe('APPROVAL_REQUIRED');
    expect(again.approvalId).not.toBe(denied.approvalId);
    const entries = await w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['type', 'result', 'reason'])
      .orderBy('seq')
      .execute();
    expect(entries.filter((e) => e.type !== 'agent.created')).toEqual([
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'approval.requested', result: null, reason: null },
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'audit', result: 'allowed', reason: 'APPROVAL_GRANTED' },
      { type: 'approval.resolved', result: null, reason: null },
      { type: 'audit', result: 'allowed', reason: null },
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'approval.requested', result: null, reason: null },
    ]);
    const seqs = (
      await w.t.legate.platform.database.read.selectFrom('stream_events').select('seq').orderBy('seq').execute()
    ).map((r) => r.seq);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    expect((await eventsOf(w.t)).find((e) => e.type === 'approval.resolved')?.data).toEqual({
      approvalId: denied.approvalId,
      agentId: w.agent.id,
      action: 'pay',
      resource: 'bank:transfer',
      status: 'approved',
    });
  });

  it('is bound to agent, action, resource and the exact arguments', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    for (const other of [
      { ...ask, arguments: { ...ask.arguments, amount: 11 } },
      { ...ask, arguments: { ...ask.arguments, amount: '10' } },
      { ...ask, arguments: { ...ask.arguments, more: null } },
      { ...ask, resource: 'bank:other' },
      { action: ask.action, resource: ask.resource },
    ])
      expect((await request(w, other)).reason).toBe('APPROVAL_REQUIRED');
    const twin = await w.t.agent(w.owner, { permissions: w.agent.body.permissions });
    expect((await w.t.authorize(twin, ask)).body.reason).toBe('APPROVAL_REQUIRED');
    expect((await request(w)).allowed).toBe(true);
  });

  it('exactly one of 50 parallel identical calls uses it; 50 that ask get the same one', async () => {
    const w = await world();
    const asked = await Promise.all(Array.from({ length: 50 }, () => request(w)));
    const ids = new Set(asked.map((a) => a.approvalId));
    expect(ids.size).toBe(1);
    await approve(w, [...ids][0]);
    const used = await Promise.all(Array.from({ length: 50 }, () => request(w)));
    expect(used.filter((a) => a.allowed)).toHaveLength(1);
    expect(new Set(used.filter((a) => !a.allowed).map((a) => a.approvalId)).size).toBe(1);
  });

  it('expires after approvals.ttl, whether pending or approved', async () => {
    const w = await world();
    const first = await request(w);
    w.t.clock.advance(299_999);
    expect((await request(w)).approvalId).toBe(first.approvalId);
    w.t.clock.advance(1);
    expect((await w.t.call('GET', `/approvals/${first.approvalId}`, { as: w.owner })).body.status).toBe('expired');
    expect([(await approve(w, first.approvalId)).status, (await approve(w, first.approvalId)).body.error.code]).toEqual(
      [409, 'APPROVAL_NOT_PENDING'],
    );
    const second = await request(w);
    expect(second.approvalId).not.toBe(first.approvalId);
    await approve(w, second.approvalId);
    w.t.clock.advance(300_000);
    expect((await request(w)).reason).toBe('APPROVAL_REQUIRED');
  });

  it('a dry run neither requests nor uses an approval', async () => {
    const w = await world();
    expect(await request(w, { ...ask, dryRun: true })).toEqual({ allowed: false, reason: 'APPROVAL_REQUIRED' });
    expect((await w.t.call('GET', '/approvals', { as: w.owner })).body).toEqual([]);
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    expect(await request(w, { ...ask, dryRun: true })).toEqual({ allowed: true });
    expect((await request(w)).allowed).toBe(true);
  });

  it('other conditions are named first, and the cap is taken last', async () => {
    const w = await world({ maxCallsPerHour: 1, allowedArgPatterns: ['acme', 'hunter*'] });
    expect((await request(w, { ...ask, arguments: { to: 'evil' } })).reason).toBe('ARGUMENTS_NOT_ALLOWED');
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    expect((await request(w)).allowed).toBe(true);
    const next = await request(w);
    expect(next.reason).toBe('APPROVAL_REQUIRED');
    await approve(w, next.approvalId);
    expect((await request(w)).reason).toBe('RATE_LIMITED');
  });

  it('through a chain the approval of every link is the one of the call', async () => {
    const w = await world();
    const child = await w.t.agent(w.owner);
    await w.t.call('POST', '/delegations', {
      as: w.owner,
      body: { fromAgent: w.agent.id, toAgent: child.id, permissions: [{ resource: 'bank:*', actions: ['pay'] }] },
    });
    const asked = (await w.t.authorize(child, ask)).body;
    expect(asked.reason).toBe('APPROVAL_REQUIRED');
    await approve(w, asked.approvalId);
    expect((await w.t.authorize(child, ask)).body.allowed).toBe(true);
    expect((await w.t.authorize(child, ask)).body.allowed).toBe(false);
  });
});

describe('onApprovalRequested', () => {
  it('is called once for each pending call, after it is recorded; its errors do no harm', async () => {
    const told: { id: string; status: string }[] = [];
    const t = await createTestService({
      onApprovalRequested: async (approval) => {
        told.push(approval);
        throw new Error('the pager is down');
      },
    });
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }],
    });
    const { approvalId } = (await t.authorize(agent, ask)).body;
    await t.authorize(agent, ask);
    await expect.poll(() => told.map((a) => [a.id, a.status])).toEqual([[approvalId, 'pending']]);
  });
});

describe('POST /approvals/:id/approve and /deny', () => {
  it('200 with the approval; denied, the call stays refused', async () => {
    const w = await world();
    const { approvalId, auditId } = await request(w);
    const r = await w.t.call('POST', `/approvals/${approvalId}/deny`, { as: w.owner, body: { note: 'too much' } });
    expect([r.status, r.body]).toEqual([
      200,
      {
        id: approvalId,
        agentId: w.agent.id,
        action: 'pay',
        resource: 'bank:transfer',
        arguments: { to: 'acme', amount: 10, password: '[REDACTED]' },
        status: 'denied',
        auditId,
        createdAt: '2030-01-15T10:10:00.000Z',
        expiresAt: '2030-01-15T10:15:00.000Z',
        resolvedAt: '2030-01-15T10:10:00.000Z',
        resolvedBy: w.owner.id,
        note: 'too much',
      },
    ]);
    expect((await request(w)).reason).toBe('APPROVAL_REQUIRED');
    expect((await approve(w, approvalId)).status).toBe(409);
  });

  it('only one of 50 parallel decisions of people counts', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        w.t.call('POST', `/approvals/${approvalId}/${i % 2 ? 'approve' : 'deny'}`, { as: w.owner }),
      ),
    );
    expect(all.filter((r) => r.status === 200)).toHaveLength(1);
    expect(all.filter((r) => r.status === 409)).toHaveLength(49);
  });

  it('401, 403 for agents and narrowed tokens, 404 for others and unknown ids, 400 for an invalid note', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    expect((await w.t.call('POST', `/approvals/${approvalId}/approve`)).status).toBe(401);
    expect((await approve(w, approvalId, w.agent)).status).toBe(403);
    const gateway = await w.t.agent(w.owner, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    expect((await approve(w, approvalId, gateway)).status).toBe(403);
    expect((await approve(w, approvalId, { token: await w.t.apiToken(w.owner.id, ['agents:write']) })).status).toBe(
      403,
    );
    expect((await approve(w, approvalId, await w.t.user())).status).toBe(404);
    expect((await approve(w, 'apr_00000000000000000000000000')).status).toBe(404);
    expect((await approve(w, '%00')).status).toBe(404);
    expect((await approve(w, approvalId, w.owner, { note: 1 })).status).toBe(400);
    expect((await approve(w, approvalId, w.owner, { notes: 'x' })).status).toBe(400);
    expect((await approve(w, approvalId, await w.t.admin())).status).toBe(200);
  });
});

describe('the audit log of an approval', () => {
  const entries = async (w: World, query = '', as: { token: string } = w.owner) =>
    (await w.t.call('GET', `/audit?agentId=${w.agent.id}${query}`, { as })).body;
  const lapse = (t: TestService) => approvals.upkeep?.(t.legate.platform);

  it('has an entry for each step, which names the person, the call and the decision that asked', async () => {
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
    // Two processes may share a SQLite file; two services in one process may not write it at once.
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

  it('cannot be written by an agent that asks for the words of an entry', async () => {
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

  it('is explained by the call that waited', async () => {
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

describe('GET /approvals and GET /approvals/:id', () => {
  it('200 newest first, by status; the agent sees its own, a stranger nothing', async () => {
    const w = await world();
    const first = (await request(w)).approvalId;
    w.t.clock.advance(1000);
    const second = (await request(w, { ...ask, resource: 'bank:b' })).approvalId;
    await approve(w, first);
    const ids = async (query: string, as: { token: string }) =>
      (await w.t.call('GET', `/approvals${query}`, { as })).body.map((a: { id: string }) => a.id);
    expect(await ids('', w.owner)).toEqual([second, first]);
    expect(await ids('?status=pending', w.owner)).toEqual([second]);
    expect(await ids('?status=approved', w.agent)).toEqual([first]);
    expect(await ids('', await w.t.user())).toEqual([]);
    expect(await ids('', await w.t.admin())).toEqual([second, first]);
    expect((await w.t.call('GET', '/approvals?status=nonsense', { as: w.owner })).status).toBe(400);
    expect((await w.t.call('GET', `/approvals/${first}`, { as: w.agent })).body.status).toBe('approved');
    expect((await w.t.call('GET', `/approvals/${first}`, { as: await w.t.user() })).status).toBe(404);
  });
});

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
