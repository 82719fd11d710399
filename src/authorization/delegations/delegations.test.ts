import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';

const gh = (actions = ['read', 'write']) => [{ resource: 'mcp:gh:*', actions }];

interface World {
  t: TestService;
  owner: TestUser;
  a: TestAgent;
  b: TestAgent;
  c: TestAgent;
  d: TestAgent;
  e: TestAgent;
}

async function world(): Promise<World> {
  const t = await createTestService();
  const owner = await t.user();
  const [a, b, c, d, e] = [
    await t.agent(owner, { permissions: gh() }),
    await t.agent(owner),
    await t.agent(owner),
    await t.agent(owner),
    await t.agent(owner),
  ];
  return { t, owner, a, b, c, d, e };
}

const delegate = (
  w: World,
  from: TestAgent,
  to: TestAgent,
  more: Record<string, unknown> = {},
  as: { token: string } = w.owner,
) =>
  w.t.call('POST', '/delegations', {
    as,
    body: { fromAgent: from.id, toAgent: to.id, permissions: gh(['read']), ...more },
  });
const may = async (w: World, agent: TestAgent, action = 'read', resource = 'mcp:gh:x') => {
  const r = await w.t.authorize(agent, { action, resource });
  expect(r.status).toBe(200);
  return r.body.allowed || r.body.reason;
};

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

  it('403 INSUFFICIENT_PERMISSIONS for more than the source holds', async () => {
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

  it('422 for self, cycles, depth, the past and inactive parties', async () => {
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

  it("an ancestor's lower maxDepth wins, and 1 may not be passed on", async () => {
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

  it('crosses owners within one tenant; each side sees it and may end it', async () => {
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

describe('the tenant of an owner changes', () => {
  it('ends what crosses owners, in both directions, and nothing else', async () => {
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

describe('a delegation is live', () => {
  it('narrows when the source is narrowed and ends when it loses the permission', async () => {
    const w = await world();
    await delegate(w, w.a, w.b);
    await delegate(w, w.b, w.c);
    await w.t.call('PATCH', `/agents/${w.a.id}`, {
      as: w.owner,
      body: { permissions: [{ resource: 'mcp:gh:issues', actions: ['read'] }] },
    });
    expect(await may(w, w.c, 'read', 'mcp:gh:issues')).toBe(true);
    expect(await may(w, w.c, 'read', 'mcp:gh:x')).toBe('NO_PERMISSION');
    await w.t.call('PATCH', `/agents/${w.a.id}`, { as: w.owner, body: { permissions: [] } });
    expect(await may(w, w.c, 'read', 'mcp:gh:issues')).toBe('NO_PERMISSION');
    await w.t.call('PATCH', `/agents/${w.a.id}`, { as: w.owner, body: { permissions: gh() } });
    expect(await may(w, w.c, 'read', 'mcp:gh:issues')).toBe(true);
  });

  it('ends when any agent on the chain is revoked, and pauses while one is expired', async () => {
    const w = await world();
    await delegate(w, w.a, w.b);
    await delegate(w, w.b, w.c);
    await w.t.call('PATCH', `/agents/${w.b.id}`, { as: w.owner, body: { expiresAt: '2030-01-15T11:00:00.000Z' } });
    w.t.clock.set('2030-01-15T10:59:59.999Z');
    expect(await may(w, w.c)).toBe(true);
    w.t.clock.set('2030-01-15T11:00:00.000Z');
    expect(await may(w, w.c)).toBe('NO_PERMISSION');
    await w.t.call('PATCH', `/agents/${w.b.id}`, { as: w.owner, body: { expiresAt: null } });
    expect(await may(w, w.c)).toBe(true);
    await w.t.call('DELETE', `/agents/${w.a.id}`, { as: w.owner });
    expect(await may(w, w.c)).toBe('NO_PERMISSION');
    expect((await w.t.call('GET', '/delegations', { as: w.owner })).body).toEqual([]);
    expect(
      (await eventsOf(w.t))
        .filter((e) => e.type === 'delegation.revoked')
        .map((e) => (e.data as { reason: string }).reason),
    ).toEqual(['agent-revoked', 'ancestor-revoked']);
  });

  it('expires at its own instant and with its ancestors', async () => {
    const w = await world();
    await delegate(w, w.a, w.b, { expiresAt: '2030-01-15T11:00:00.000Z' });
    await delegate(w, w.b, w.c);
    w.t.clock.set('2030-01-15T10:59:59.999Z');
    expect([await may(w, w.b), await may(w, w.c)]).toEqual([true, true]);
    expect((await w.t.call('GET', '/delegations', { as: w.owner })).body).toHaveLength(2);
    w.t.clock.set('2030-01-15T11:00:00.000Z');
    expect([await may(w, w.b), await may(w, w.c)]).toEqual(['NO_PERMISSION', 'NO_PERMISSION']);
    expect((await w.t.call('GET', '/delegations', { as: w.owner })).body).toEqual([]);
  });

  it('is listed while every agent of the chain is active: one may expire, and be given longer', async () => {
    for (const which of ['a', 'b', 'c'] as const) {
      const w = await world();
      const first = (await delegate(w, w.a, w.b)).body.id;
      const second = (await delegate(w, w.b, w.c)).body.id;
      const listed = async () =>
        (await w.t.call('GET', '/delegations', { as: w.owner })).body.map((d: { id: string }) => d.id);
      const expiresAt = (iso: string | null) =>
        w.t.call('PATCH', `/agents/${w[which].id}`, { as: w.owner, body: { expiresAt: iso } });
      await expiresAt('2030-01-15T11:00:00.000Z');
      expect(await listed()).toEqual([first, second]);
      w.t.clock.set('2030-01-15T11:00:00.000Z');
      expect(await listed(), which).toEqual(which === 'c' ? [first] : []);
      expect((await w.t.call('GET', `/delegations/${second}`, { as: w.owner })).status, which).toBe(404);
      expect((await w.t.call('GET', `/delegations?toAgent=${w.c.id}&limit=1`, { as: w.owner })).body).toEqual([]);
      if (which !== 'c') expect(await may(w, w.c)).toBe('NO_PERMISSION');
      await expiresAt(null);
      expect(await listed()).toEqual([first, second]);
      expect(await may(w, w.c)).toBe(true);
    }
  });

  it('a chain that grew past a maxDepth by later changes is not followed', async () => {
    const w = await world();
    await w.t.call('PATCH', `/agents/${w.b.id}`, { as: w.owner, body: { permissions: gh() } });
    expect((await delegate(w, w.b, w.c)).body.depth).toBe(1);
    await delegate(w, w.a, w.b, { maxDepth: 1 });
    await w.t.call('PATCH', `/agents/${w.b.id}`, { as: w.owner, body: { permissions: [] } });
    expect(await may(w, w.b)).toBe(true);
    expect(await may(w, w.c)).toBe('NO_PERMISSION');
  });

  it('names the chain in the audit entry, one entry for one decision', async () => {
    const w = await world();
    const first = await delegate(w, w.a, w.b);
    const second = await delegate(w, w.b, w.c);
    const r = await w.t.authorize(w.c, { action: 'read', resource: 'mcp:gh:x' });
    const rows = await w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .selectAll()
      .where('type', '=', 'audit')
      .execute();
    expect(rows).toHaveLength(1);
    expect([rows[0]?.id, rows[0]?.agent_id, JSON.parse(rows[0]?.delegation_ids ?? 'null')]).toEqual([
      r.body.auditId,
      w.c.id,
      [first.body.id, second.body.id],
    ]);
  });
});

describe('caps along chains', () => {
  const capped = (n: number, actions = ['read']) => [
    { resource: 'mcp:gh:*', actions, constraints: { maxCallsPerHour: n } },
  ];

  it('delegating never multiplies a cap: parent and children take from the same counter, exactly', async () => {
    const w = await world();
    await w.t.call('PATCH', `/agents/${w.a.id}`, { as: w.owner, body: { permissions: capped(20) } });
    await delegate(w, w.a, w.b);
    await delegate(w, w.a, w.c);
    await delegate(w, w.b, w.d);
    const callers = [w.a, w.b, w.c, w.d];
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        w.t.authorize(callers[i % 4] as TestAgent, { action: 'read', resource: `mcp:gh:${i}` }),
      ),
    );
    expect(answers.filter((r) => r.body.allowed)).toHaveLength(20);
    expect(answers.filter((r) => r.body.reason === 'RATE_LIMITED')).toHaveLength(180);
  });

  it('a delegated permission may have its own cap, which narrows further', async () => {
    const w = await world();
    await w.t.call('PATCH', `/agents/${w.a.id}`, { as: w.owner, body: { permissions: capped(5) } });
    await delegate(w, w.a, w.b, { permissions: capped(2) });
    expect([await may(w, w.b), await may(w, w.b), await may(w, w.b)]).toEqual([true, true, 'RATE_LIMITED']);
    expect([await may(w, w.a), await may(w, w.a), await may(w, w.a), await may(w, w.a)]).toEqual([
      true,
      true,
      true,
      'RATE_LIMITED',
    ]);
    w.t.clock.set('2030-01-15T11:00:00.000Z');
    expect([await may(w, w.b), await may(w, w.a)]).toEqual([true, true]);
  });

  it('lists permissions with the constraints of every link, none weaker than in a decision', async () => {
    const w = await world();
    const constrained = (constraints: object) => [{ ...gh(['read'])[0], constraints }];
    const shown = async (agent = w.b) => {
      const [one] = (await w.t.call('GET', `/agents/${agent.id}/permissions`, { as: w.owner })).body;
      return one && [one.constraints, one.furtherConstraints];
    };
    const both = async (above: object, below: object) => {
      await w.t.call('PATCH', `/agents/${w.a.id}`, { as: w.owner, body: { permissions: constrained(above) } });
      const { body } = await delegate(w, w.a, w.b, { permissions: constrained(below) });
      const found = await shown();
      await w.t.call('DELETE', `/delegations/${body.id}`, { as: w.owner });
      return found;
    };
    expect(await both({ requireApproval: true }, { requireApproval: false })).toEqual([
      { requireApproval: true },
      undefined,
    ]);
    expect(await both({ requireApproval: false }, { maxCallsPerHour: 5 })).toEqual([
      { requireApproval: false, maxCallsPerHour: 5 },
      undefined,
    ]);
    expect(await both({ maxCallsPerHour: 3 }, { maxCallsPerHour: 5 })).toEqual([{ maxCallsPerHour: 3 }, undefined]);
    expect(await both({ ipAllowlist: ['10.1.0.0/16', '192.0.2.1'] }, { ipAllowlist: ['0.0.0.0/0', '::/0'] })).toEqual([
      { ipAllowlist: ['10.1.0.0/16', '192.0.2.1'] },
      undefined,
    ]);
    expect(
      await both({ ipAllowlist: ['10.0.0.0/8', '2001:db8::/32'] }, { ipAllowlist: ['10.1.0.0/16', '2001:db8::1'] }),
    ).toEqual([{ ipAllowlist: ['10.1.0.0/16', '2001:db8::1'] }, undefined]);
    expect(await both({ ipAllowlist: ['10.0.0.0/8'] }, { ipAllowlist: ['192.0.2.0/24'] })).toBeUndefined();
    const [day, morning] = [
      { start: '09:00', end: '17:00' },
      { start: '08:00', end: '10:00' },
    ];
    expect(
      await both({ timeWindow: day, allowedArgPatterns: ['a*'] }, { timeWindow: morning, allowedArgPatterns: ['*b'] }),
    ).toEqual([{ timeWindow: morning, allowedArgPatterns: ['*b'] }, [{ timeWindow: day, allowedArgPatterns: ['a*'] }]]);
    expect(await both({ timeWindow: day }, { timeWindow: day, allowedArgPatterns: ['*b'] })).toEqual([
      { timeWindow: day, allowedArgPatterns: ['*b'] },
      undefined,
    ]);
    await w.t.call('PATCH', `/agents/${w.a.id}`, {
      as: w.owner,
      body: { permissions: constrained({ timeWindow: day }) },
    });
    await delegate(w, w.a, w.b, { permissions: constrained({ timeWindow: morning }) });
    await delegate(w, w.b, w.c, { permissions: constrained({ timeWindow: { start: '08:30', end: '09:30' } }) });
    expect(await shown(w.c)).toEqual([
      { timeWindow: { start: '08:30', end: '09:30' } },
      [{ timeWindow: day }, { timeWindow: morning }],
    ]);
  });

  it('conditions of every link apply', async () => {
    const w = await world();
    await w.t.call('PATCH', `/agents/${w.a.id}`, {
      as: w.owner,
      body: { permissions: [{ ...gh(['read'])[0], constraints: { timeWindow: { start: '09:00', end: '12:00' } } }] },
    });
    await delegate(w, w.a, w.b, {
      permissions: [{ ...gh(['read'])[0], constraints: { ipAllowlist: ['192.0.2.0/24'] } }],
    });
    expect(await may(w, w.b)).toBe(true);
    const elsewhere = await w.t.call('POST', '/authorize', {
      as: w.b,
      body: { action: 'read', resource: 'mcp:gh:x' },
      ip: '198.51.100.1',
    });
    expect(elsewhere.body.reason).toBe('IP_NOT_ALLOWED');
    w.t.clock.set('2030-01-15T12:00:00.000Z');
    expect(await may(w, w.b)).toBe('OUTSIDE_TIME_WINDOW');
  });
});

describe('DELETE /delegations/:id', () => {
  it('204, ends it and all that descend from it, nothing else, each with its event', async () => {
    const w = await world();
    const ab = await delegate(w, w.a, w.b);
    const bc = await delegate(w, w.b, w.c);
    const cd = await delegate(w, w.c, w.d);
    const ae = await delegate(w, w.a, w.e);
    expect((await w.t.call('DELETE', `/delegations/${ab.body.id}`, { as: w.owner })).status).toBe(204);
    for (const agent of [w.b, w.c, w.d]) expect(await may(w, agent)).toBe('NO_PERMISSION');
    expect(await may(w, w.e)).toBe(true);
    expect((await w.t.call('GET', '/delegations', { as: w.owner })).body.map((d: { id: string }) => d.id)).toEqual([
      ae.body.id,
    ]);
    expect((await eventsOf(w.t)).filter((e) => e.type === 'delegation.revoked').map((e) => e.data)).toEqual([
      { delegationId: ab.body.id, fromAgent: w.a.id, toAgent: w.b.id, reason: 'revoked' },
      { delegationId: bc.body.id, fromAgent: w.b.id, toAgent: w.c.id, reason: 'ancestor-revoked' },
      { delegationId: cd.body.id, fromAgent: w.c.id, toAgent: w.d.id, reason: 'ancestor-revoked' },
    ]);
    expect((await w.t.call('DELETE', `/delegations/${ab.body.id}`, { as: w.owner })).status).toBe(204);
    expect((await eventsOf(w.t)).filter((e) => e.type === 'delegation.revoked')).toHaveLength(3);
  });

  it('a delegation with another live parent stays', async () => {
    const w = await world();
    const ab = await delegate(w, w.a, w.b);
    await delegate(w, w.a, w.b);
    const bc = await delegate(w, w.b, w.c);
    await w.t.call('DELETE', `/delegations/${ab.body.id}`, { as: w.owner });
    expect(await may(w, w.c)).toBe(true);
    expect((await w.t.call('GET', `/delegations/${bc.body.id}`, { as: w.owner })).status).toBe(200);
  });

  it('404 for an unknown delegation, one of other owners, and a malformed id', async () => {
    const w = await world();
    const { body } = await delegate(w, w.a, w.b);
    const stranger = await w.t.user();
    for (const [id, as] of [
      [body.id, stranger],
      [body.id, w.c],
      ['dlg_00000000000000000000000000', w.owner],
      ['%00', w.owner],
    ] as const) {
      for (const method of ['GET', 'DELETE'])
        expect((await w.t.call(method, `/delegations/${id}`, { as })).status, `${method} ${id}`).toBe(404);
    }
    expect(await may(w, w.b)).toBe(true);
  });
});

describe('GET /delegations', () => {
  it('200 with the live delegations of the caller, by filter and page', async () => {
    const w = await world();
    const ids = [];
    for (const [from, to] of [
      [w.a, w.b],
      [w.a, w.c],
      [w.b, w.d],
    ] as const)
      ids.push((await delegate(w, from, to)).body.id);
    const list = async (query: string, as: { token: string } = w.owner) =>
      (await w.t.call('GET', `/delegations${query}`, { as })).body.map((d: { id: string }) => d.id);
    expect((await list('')).sort()).toEqual([...ids].sort());
    expect(await list(`?fromAgent=${w.b.id}`)).toEqual([ids[2]]);
    expect(await list(`?toAgent=${w.c.id}`)).toEqual([ids[1]]);
    expect((await list('', w.b)).sort()).toEqual([ids[0], ids[2]].sort());
    expect(await list('', await w.t.user())).toEqual([]);
    const first = await w.t.call('GET', '/delegations?limit=2', { as: w.owner });
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await w.t.call('GET', next, { as: w.owner });
    expect([...first.body, ...second.body].map((d: { id: string }) => d.id).sort()).toEqual([...ids].sort());
    expect((await w.t.call('GET', '/delegations?limit=0', { as: w.owner })).status).toBe(400);
  });
});

describe('GET /agents/:id/permissions', () => {
  it('200 with what the agent may do now and by which chain', async () => {
    const w = await world();
    const ab = await delegate(w, w.a, w.b, { permissions: gh(['read', 'write']) });
    const bc = await delegate(w, w.b, w.c, { permissions: [{ resource: 'mcp:gh:issues:*', actions: ['read'] }] });
    await w.t.call('PATCH', `/agents/${w.a.id}`, {
      as: w.owner,
      body: {
        permissions: [
          { resource: 'mcp:*:issues:*', actions: ['*'] },
          { resource: 'mcp:gh:*', actions: ['read', 'write'] },
        ],
      },
    });
    expect((await w.t.call('GET', `/agents/${w.c.id}/permissions`, { as: w.owner })).body).toEqual([
      {
        resource: 'mcp:gh:issues:*',
        actions: ['read'],
        source: { type: 'delegation', delegationIds: [ab.body.id, bc.body.id] },
        lastUsedAt: null,
      },
      {
        resource: 'mcp:gh:issues:*',
        actions: ['read'],
        source: { type: 'delegation', delegationIds: [ab.body.id, bc.body.id] },
        lastUsedAt: null,
      },
    ]);
    expect((await w.t.call('GET', `/agents/${w.b.id}/permissions`, { as: w.b })).body).toHaveLength(2);
  });
});
