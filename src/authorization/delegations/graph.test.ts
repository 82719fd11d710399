import { describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));

const db = [{ resource: 'db:*', actions: ['read'] }];

describe('GET /delegations/graph', () => {
  it('shows agents and delegations around an agent, in both directions, up to a depth', async () => {
    const t = await shared();
    const owner = await t.user();
    const [a, b, c, d] = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => t.agent(owner, { name, permissions: name === 'a' ? db : [] })),
    );
    if (!a || !b || !c || !d) throw new Error('no agents');
    const give = async (from: Json, to: Json): Promise<string> =>
      (
        await t.call('POST', '/delegations', {
          as: owner,
          body: { fromAgent: from.id, toAgent: to.id, permissions: db, maxDepth: 5 },
        })
      ).body.id;
    const ab = await give(a, b);
    const bc = await give(b, c);
    const cd = await give(c, d);
    const graph = async (query: string, as: { token: string } | string = owner): Promise<Json> => {
      const r = await t.call('GET', `/delegations/graph?${query}`, { as });
      expect(r.status).toBe(200);
      return r.body;
    };
    const edges = (g: Json): string[] => g.delegations.map((e: Json) => e.id).sort();
    const names = (g: Json): string[] => g.agents.map((n: Json) => n.name).sort();
    const near = await graph(`agentId=${b.id}&depth=1`);
    expect([edges(near), names(near), near.complete]).toEqual([[ab, bc].sort(), ['a', 'b', 'c'], true]);
    expect(edges(await graph(`agentId=${a.id}`))).toEqual([ab, bc, cd].sort());
    expect(edges(await graph(''))).toEqual([ab, bc, cd].sort());
    expect(near.delegations[0]).toMatchObject({ active: true, permissionCount: 1, revokedAt: null, depth: 1 });
    // An agent sees only its own delegations, and of the other agents only the ids.
    const own = await graph(`agentId=${b.id}&depth=5`, b.token);
    expect([edges(own), names(own)]).toEqual([[ab, bc].sort(), ['b', null, null].sort()]);
    for (const as of [await t.user(), c])
      expect((await t.call('GET', `/delegations/graph?agentId=${b.id}`, { as })).status).toBe(404);
    expect(edges(await graph('', await t.user()))).toEqual([]);
    await t.call('DELETE', `/delegations/${bc}`, { as: owner });
    expect(edges(await graph(''))).toEqual([ab]);
    const all = await graph(`agentId=${d.id}&ended=true`, await t.user({ role: 'auditor' }));
    expect(all.delegations.map((e: Json) => [e.id, e.active, e.revokedAt === null])).toEqual(
      expect.arrayContaining([
        [ab, true, true],
        [bc, false, false],
        [cd, false, false],
      ]),
    );
    // When an agent ends, its delegations end too.
    await t.call('DELETE', `/agents/${a.id}`, { as: owner });
    expect(edges(await graph(''))).toEqual([]);
    expect((await graph(`agentId=${a.id}&ended=true`)).agents).toContainEqual(
      expect.objectContaining({ id: a.id, status: 'revoked' }),
    );
  });

  it('and the list show a delegation as active only while the owners of both agents are not suspended', async () => {
    const t = await shared();
    const tenantId = await t.tenant();
    const [admin, giver, receiver] = [await t.admin(), await t.user({ tenantId }), await t.user({ tenantId })];
    const from = await t.agent(giver, { permissions: db });
    const to = await t.agent(receiver);
    const body = { fromAgent: from.id, toAgent: to.id, permissions: db };
    const { id } = (await t.call('POST', '/delegations', { as: admin, body })).body;
    const shown = async () => {
      const get = async (path: string) => (await t.call('GET', path, { as: admin })).body;
      const [edge] = (await get(`/delegations/graph?agentId=${to.id}&ended=true`)).delegations;
      const listed = (await get(`/delegations?toAgent=${to.id}`)).map((one: Json) => one.id);
      const allowed = (await t.authorize(to, { action: 'read', resource: 'db:x' })).body.allowed;
      return [edge.active, listed, allowed];
    };
    const set = (person: { id: string }, status: string) =>
      t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status } });
    for (const person of [giver, receiver]) {
      expect(await shown()).toEqual([true, [id], true]);
      expect((await set(person, 'suspended')).status).toBe(200);
      expect(await shown()).toEqual([false, [], false]);
      await set(person, 'active');
    }
    expect(await shown()).toEqual([true, [id], true]);
  });

  it('refuses invalid parameters', async () => {
    const t = await shared();
    const owner = await t.user();
    for (const query of ['depth=0', 'depth=11', 'ended=yes', 'agent=x', 'agentId='])
      expect([query, (await t.call('GET', `/delegations/graph?${query}`, { as: owner })).status]).toEqual([query, 400]);
    expect((await t.call('GET', '/delegations/graph?agentId=x', { as: owner })).status).toBe(404);
  });
});
