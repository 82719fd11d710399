import { describe, expect, it } from 'vitest';
import { delegate, gh, may, world } from '../../../test/support/delegations.ts';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';

describe('POST /delegations', () => {
  it('201 with exactly the fields of a delegation; the target may then act', async () => {
    const w = await world();
    expect(await may(w, w.b)).toBe('NO_PERMISSION');
    const r = await delegate(w, w.a, w.b, { expiresAt: '2030-01-16T00:00:00.000Z', maxDepth: 2 });
    expect(r.status).toBe(201);
    expect(r.body).toEqual({
      id: expect.stringMatching(/^dlg_/),
      fromAgent: w.a.id,
      toAgent: w.b.id,
      permissions: gh(['read']),
      depth: 1,
      expiresAt: '2030-01-16T00:00:00.000Z',
      createdAt: '2030-01-15T10:10:00.000Z',
    });
    expect(await may(w, w.b)).toBe(true);
    expect(await may(w, w.b, 'write')).toBe('NO_PERMISSION');
    expect((await eventsOf(w.t)).filter((e) => e.type === 'delegation.created').map((e) => e.data)).toEqual([
      {
        delegationId: r.body.id,
        fromAgent: w.a.id,
        toAgent: w.b.id,
        permissions: gh(['read']),
        depth: 1,
        expiresAt: '2030-01-16T00:00:00.000Z',
      },
    ]);
  });

  it('403 INSUFFICIENT_PERMISSIONS for more than the source has', async () => {
    const w = await world();
    for (const permissions of [
      gh(['delete']),
      gh(['*']),
      [{ resource: '*', actions: ['read'] }],
      [{ resource: 'mcp:*:x', actions: ['read'] }],
      [...gh(['read']), { resource: 'db:x', actions: ['read'] }],
    ]) {
      const r = await delegate(w, w.a, w.b, { permissions });
      expect([r.status, r.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    }
    expect(
      (await delegate(w, w.a, w.b, { permissions: [{ resource: 'mcp:gh:issues:*', actions: ['write'] }] })).status,
    ).toBe(201);
  });

  it('422 for a delegation to itself, cycles, too much depth, a time in the past and inactive parties', async () => {
    const w = await world();
    const code = async (p: ReturnType<typeof delegate>) => [(await p).status, (await p).body.error?.code];
    expect(await code(delegate(w, w.a, w.a))).toEqual([422, 'DELEGATION_TO_SELF']);
    expect((await delegate(w, w.a, w.b)).status).toBe(201);
    expect((await delegate(w, w.b, w.c)).body.depth).toBe(2);
    expect(await code(delegate(w, w.b, w.a))).toEqual([422, 'DELEGATION_CYCLE']);
    expect(await code(delegate(w, w.c, w.a))).toEqual([422, 'DELEGATION_CYCLE']);
    expect((await delegate(w, w.c, w.d)).body.depth).toBe(3);
    expect(await code(delegate(w, w.d, w.e))).toEqual([422, 'DELEGATION_DEPTH_EXCEEDED']);
    expect(await code(delegate(w, w.a, w.e, { expiresAt: '2030-01-15T10:10:00.000Z' }))).toEqual([
      422,
      'EXPIRES_AT_IN_PAST',
    ]);
    await w.t.call('DELETE', `/agents/${w.e.id}`, { as: w.owner });
    expect(await code(delegate(w, w.a, w.e))).toEqual([422, 'AGENT_NOT_ACTIVE']);
    expect(await code(delegate(w, w.e, w.a))).toEqual([422, 'AGENT_NOT_ACTIVE']);
  });

  it("an ancestor's lower maxDepth takes precedence, and with 1 the target cannot delegate further", async () => {
    const w = await world();
    await delegate(w, w.a, w.b, { maxDepth: 1 });
    expect((await delegate(w, w.b, w.c, { maxDepth: 10 })).body.error.code).toBe('DELEGATION_DEPTH_EXCEEDED');
    await delegate(w, w.a, w.c, { maxDepth: 2 });
    expect((await delegate(w, w.c, w.d, { maxDepth: 10 })).status).toBe(201);
    expect((await delegate(w, w.d, w.e)).body.error.code).toBe('DELEGATION_DEPTH_EXCEEDED');
  });

  it('400 names the malformed field', async () => {
    const w = await world();
    for (const [more, path] of [
      [{ permissions: [] }, 'permissions'],
      [{ permissions: [{ resource: 'git*', actions: ['read'] }] }, 'permissions.0.resource'],
      [
        { permissions: [{ resource: 'mcp:gh:*', actions: ['read'], constraints: { maxCallPerHour: 1 } }] },
        'permissions.0.constraints.maxCallPerHour',
      ],
      [{ maxDepth: 0 }, 'maxDepth'],
      [{ maxDepth: 1.5 }, 'maxDepth'],
      [{ expiresAt: 'tomorrow' }, 'expiresAt'],
      [{ depth: 1 }, 'depth'],
    ] as const) {
      const r = await delegate(w, w.a, w.b, more);
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, path]);
    }
  });

  it('404 for agents that the caller cannot see; only owner, admin and the agent itself delegate from it', async () => {
    const w = await world();
    const stranger = await w.t.user();
    const theirs = await w.t.agent(stranger, { permissions: gh() });
    expect((await delegate(w, w.a, w.b, {}, stranger)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await delegate(w, w.a, theirs)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await delegate(w, theirs, w.b)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await delegate(w, w.a, w.b, {}, w.b)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await delegate(w, w.a, w.b, {}, w.a)).status).toBe(201);
    const admin = await w.t.admin();
    expect((await delegate(w, w.a, w.c, {}, admin)).status).toBe(201);
    expect((await delegate(w, w.a, theirs, {}, admin)).body.error.code).toBe('DELEGATION_OUTSIDE_TENANT');
    expect((await w.t.call('POST', '/delegations', { body: {} })).status).toBe(401);
    const narrow = await w.t.apiToken(w.owner.id, ['agents:write']);
    expect((await delegate(w, w.a, w.d, {}, { token: narrow })).status).toBe(403);
  });

  it('is possible between owners of one tenant; both sides see it and can end it', async () => {
    const t = await createTestService();
    const tenantId = await t.tenant();
    const [x, y] = [await t.user({ tenantId }), await t.user({ tenantId })];
    const from = await t.agent(x, { permissions: gh() });
    const to = await t.agent(y);
    const r = await t.call('POST', '/delegations', {
      as: x,
      body: { fromAgent: from.id, toAgent: to.id, permissions: gh(['read']) },
    });
    expect(r.status).toBe(201);
    for (const as of [x, y, from, to])
      expect((await t.call('GET', `/delegations/${r.body.id}`, { as })).status).toBe(200);
    expect((await t.call('DELETE', `/delegations/${r.body.id}`, { as: from })).status).toBe(204);
    expect((await t.authorize(to, { action: 'read', resource: 'mcp:gh:x' })).body.allowed).toBe(false);
  });

  it('can be revoked by the receiving agent and its owner, with its descendants and an event for each', async () => {
    const t = await createTestService();
    const tenantId = await t.tenant();
    const [x, y, z] = [await t.user({ tenantId }), await t.user({ tenantId }), await t.user({ tenantId })];
    const from = await t.agent(x, { permissions: gh() });
    const [to, further] = [await t.agent(y), await t.agent(y)];
    const give = async (as: { token: string }, fromAgent: string, toAgent: string): Promise<string> =>
      (await t.call('POST', '/delegations', { as, body: { fromAgent, toAgent, permissions: gh(['read']) } })).body.id;
    const end = (id: string, as: { token: string }) => t.call('DELETE', `/delegations/${id}`, { as });
    const bystander = await t.agent(y);
    for (const as of [y, to]) {
      const received = await give(x, from.id, to.id);
      const passedOn = await give(y, to.id, further.id);
      for (const stranger of [z, bystander, further]) expect((await end(received, stranger)).status).toBe(404);
      expect((await end(received, as)).status).toBe(204);
      expect((await end(received, as)).status).toBe(204);
      expect((await t.authorize(further, { action: 'read', resource: 'mcp:gh:x' })).body.allowed).toBe(false);
      const told = (await eventsOf(t)).filter((e) => e.type === 'delegation.revoked').slice(-2);
      expect(told.map((e) => [e.data['delegationId'], e.data['reason']])).toEqual([
        [received, 'revoked'],
        [passedOn, 'ancestor-revoked'],
      ]);
    }
  });
});

describe('a new tenant of an owner', () => {
  it('ends only delegations between different owners, in both directions', async () => {
    const t = await createTestService();
    const root = await t.admin();
    const tenantId = await t.tenant();
    const [alice, bob] = [await t.user({ tenantId }), await t.user({ tenantId })];
    const permissions = [{ resource: 'db:secret', actions: ['read'] }];
    const [hers, hers2, his] = [await t.agent(alice, { permissions }), await t.agent(alice), await t.agent(bob)];
    const bobs = await t.agent(bob, { permissions: [{ resource: 'files:x', actions: ['read'] }] });
    const give = async (as: typeof alice, fromAgent: string, toAgent: string, resource: string) => {
      const passed = { fromAgent, toAgent, permissions: [{ resource, actions: ['read'] }] };
      const r = await t.call('POST', '/delegations', { as, body: passed });
      expect(r.status).toBe(201);
      return r.body.id as string;
    };
    const allowed = async (agent: { token: string }, resource: string) =>
      (await t.authorize(agent, { action: 'read', resource })).body.allowed;
    const across = await give(alice, hers.id, his.id, 'db:secret');
    const back = await give(bob, bobs.id, hers.id, 'files:x');
    await give(alice, hers.id, hers2.id, 'db:secret');
    expect([await allowed(his, 'db:secret'), await allowed(hers, 'files:x')]).toEqual([true, true]);

    expect((await t.call('PATCH', `/users/${bob.id}`, { as: root, body: { name: 'Bob', role: 'admin' } })).status).toBe(
      200,
    );
    expect(await allowed(his, 'db:secret')).toBe(true);
    expect((await t.call('PATCH', `/users/${bob.id}`, { as: root, body: { tenantId: await t.tenant() } })).status).toBe(
      200,
    );
    expect([await allowed(his, 'db:secret'), await allowed(hers, 'files:x')]).toEqual([false, false]);
    expect(await allowed(hers2, 'db:secret')).toBe(true);
    const ended = (await eventsOf(t)).filter((e) => e.type === 'delegation.revoked');
    expect(ended.map((e) => [e.data['delegationId'], e.data['reason']]).sort()).toEqual(
      [
        [across, 'tenant-changed'],
        [back, 'tenant-changed'],
      ].sort(),
    );
  });
});
