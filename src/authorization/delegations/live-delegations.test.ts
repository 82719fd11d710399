import { describe, expect, it } from 'vitest';
import { delegate, gh, may, world } from '../../../test/support/delegations.ts';
import { eventsOf } from '../../../test/support/events.ts';
import type { TestAgent } from '../../../test/support/service.ts';

describe('an active delegation', () => {
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

  it('expires at its own time and with its ancestors', async () => {
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

  it('is listed while every agent of the chain is active: an agent may expire, and get a later expiry', async () => {
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

  it('is not followed in a chain that exceeds a maxDepth through later changes', async () => {
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

  it('delegating never multiplies a cap: parent and children use the same counter, exactly', async () => {
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

  it('a delegated permission may have its own, lower cap', async () => {
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
