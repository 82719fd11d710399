import { describe, expect, it } from 'vitest';
import { delegate, gh, may, world } from '../../../test/support/delegations.ts';
import { eventsOf } from '../../../test/support/events.ts';

describe('DELETE /delegations/:id', () => {
  it('204: ends it and all that descend from it, and no others, each with its event', async () => {
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

  it('a delegation with another active parent stays active', async () => {
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
  it('200 with the active delegations of the caller, by filter and page', async () => {
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
  it("200 with the agent's current permissions and their chains", async () => {
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
