import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';

const SOON = '2030-01-15T11:00:00.000Z';

describe('PATCH /agents/:id', () => {
  describe('200', () => {
    it('changes each field alone, updates updatedAt and records the changed fields', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const { id, body } = await t.agent(alice, { name: 'before', metadata: { a: 1 } });
      const { token: _, ...made } = body;
      const steps: [Record<string, unknown>, string[]][] = [
        [{ name: 'after' }, ['name']],
        [
          { permissions: [{ resource: 'a:*', actions: ['read'], constraints: { maxCallsPerHour: 3 } }] },
          ['permissions'],
        ],
        [{ expiresAt: '2031-01-01T00:00:00.000Z' }, ['expiresAt']],
        [{ metadata: { b: { c: [2] } } }, ['metadata']],
        [{ name: 'both', metadata: {} }, ['name', 'metadata']],
        [{ expiresAt: null }, ['expiresAt']],
      ];
      let want = made;
      for (const [patch, changed] of steps) {
        t.clock.advance(1500);
        const r = await t.call('PATCH', `/agents/${id}`, { as: alice, body: patch });
        want = { ...want, ...patch, updatedAt: new Date(t.clock.now()).toISOString() };
        expect(r.status).toBe(200);
        expect(r.body).toEqual(want);
        expect((await t.call('GET', `/agents/${id}`, { as: alice })).body).toEqual(want);
        expect((await eventsOf(t, id)).at(-1)).toEqual({
          type: 'agent.updated',
          agentId: id,
          userId: alice.id,
          timestamp: t.clock.now(),
          data: { agentId: id, changed },
        });
      }
      expect(want.createdAt).toBe(made.createdAt);
      expect(await eventsOf(t, id)).toHaveLength(1 + steps.length);
    });

    it('does nothing when no value changes: no event is written and updatedAt stays', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const same = {
        name: 'same',
        permissions: [{ resource: 'a:*', actions: ['read'] }],
        metadata: { a: 1 },
        expiresAt: '2031-01-01T00:00:00.000Z',
      };
      const { id, body } = await t.agent(alice, same);
      const { token: _, ...made } = body;
      t.clock.advance(1000);
      for (const patch of [{}, same, { name: 'same' }, { expiresAt: '2031-01-01T01:00:00+01:00' }]) {
        const r = await t.call('PATCH', `/agents/${id}`, { as: alice, body: patch });
        expect(r.status).toBe(200);
        expect(r.body).toEqual(made);
      }
      expect(await eventsOf(t, id)).toHaveLength(1);
    });

    it('applies to the next decision, in both directions', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const agent = await t.agent(alice);
      const ask = async () => (await t.authorize(agent, { action: 'read', resource: 'a:b' })).body;
      const patch = (permissions: unknown) =>
        t.call('PATCH', `/agents/${agent.id}`, { as: alice, body: { permissions } });
      expect(await ask()).toMatchObject({ allowed: false, reason: 'NO_PERMISSION' });
      await patch([{ resource: 'a:*', actions: ['read'] }]);
      expect(await ask()).toMatchObject({ allowed: true });
      await patch([]);
      expect(await ask()).toMatchObject({ allowed: false, reason: 'NO_PERMISSION' });
    });

    it('keeps the hour counters of unchanged entries', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const capped = { resource: 'a:*', actions: ['read'], constraints: { maxCallsPerHour: 2 } };
      const agent = await t.agent(alice, { permissions: [capped] });
      const ask = async () => (await t.authorize(agent, { action: 'read', resource: 'a:b' })).body;
      expect(await ask()).toMatchObject({ allowed: true });
      await t.call('PATCH', `/agents/${agent.id}`, {
        as: alice,
        body: { permissions: [{ resource: 'z:*', actions: ['read'] }, capped] },
      });
      expect(await ask()).toMatchObject({ allowed: true });
      expect(await ask()).toMatchObject({ allowed: false, reason: 'RATE_LIMITED' });
    });

    it('ends an agent at an earlier expiry, and reactivates it with a later one or without one', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const agent = await t.agent(alice, { permissions: [{ resource: 'a:*', actions: ['read'] }] });
      const patch = (expiresAt: string | null) =>
        t.call('PATCH', `/agents/${agent.id}`, { as: alice, body: { expiresAt } });
      const read = () => t.call('GET', `/agents/${agent.id}`, { as: agent });
      const ask = async () => (await t.authorize(alice, { agentId: agent.id, action: 'read', resource: 'a:b' })).body;
      expect((await patch(SOON)).body.expiresAt).toBe(SOON);
      t.clock.set(SOON);
      expect((await read()).status).toBe(401);
      expect(await ask()).toMatchObject({ allowed: false, reason: 'AGENT_EXPIRED' });
      const revived = await patch('2030-01-15T12:00:00.000Z');
      expect(revived.body.status).toBe('active');
      expect((await read()).status).toBe(200);
      expect(await ask()).toMatchObject({ allowed: true });
      t.clock.set('2030-01-15T12:00:00.000Z');
      expect((await read()).status).toBe(401);
      expect((await patch(null)).body).toMatchObject({ status: 'active', expiresAt: null });
      expect((await read()).status).toBe(200);
    });

    it('changes an expired agent without reactivating it', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const { id } = await t.agent(alice, { expiresAt: SOON });
      t.clock.set(SOON);
      const r = await t.call('PATCH', `/agents/${id}`, { as: alice, body: { name: 'new' } });
      expect(r.body).toMatchObject({ name: 'new', status: 'expired', expiresAt: SOON });
    });

    it('applies all of 40 parallel changes to different fields', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const { id } = await t.agent(alice);
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          t.call('PATCH', `/agents/${id}`, { as: alice, body: i % 2 ? { name: `n${i}` } : { metadata: { i } } }),
        ),
      );
      expect(answers.every((r) => r.status === 200)).toBe(true);
      const events = (await eventsOf(t, id)).slice(1);
      expect(events.map((e) => e.data.changed.join()).sort()).toEqual([
        ...Array(20).fill('metadata'),
        ...Array(20).fill('name'),
      ]);
      const { body } = await t.call('GET', `/agents/${id}`, { as: alice });
      expect(body.name).toMatch(/^n\d+$/);
      expect(body.metadata).toHaveProperty('i');
    });

    it('is for the owner, an admin, a gateway agent and a token with the scope', async () => {
      const t = await createTestService();
      const [alice, admin] = [await t.user(), await t.admin()];
      const { id } = await t.agent(alice);
      const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
      for (const [i, as] of [alice, admin, gateway, await t.apiToken(alice.id, ['agents:write'])].entries()) {
        const r = await t.call('PATCH', `/agents/${id}`, { as, body: { name: `by ${i}` } });
        expect(r.status).toBe(200);
        expect(r.body).toMatchObject({ name: `by ${i}`, ownerId: alice.id });
      }
    });
  });

  it('400 for fields that cannot be changed or are invalid, and changes nothing', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id, body } = await t.agent(alice);
    const { token: _, ...made } = body;
    const bodies: [string, unknown][] = [
      ['ownerId', { ownerId: alice.id }],
      ['type', { type: 'service' }],
      ['status', { status: 'active' }],
      ['id', { id }],
      ['token', { token: 'x' }],
      ['tenantId', { tenantId: null }],
      ['createdAt', { createdAt: '2031-01-01T00:00:00Z' }],
      ['name', { name: null }],
      ['name', { name: '' }],
      ['name', { name: 'n'.repeat(201) }],
      ['name', { name: '\u0000' }],
      ['permissions', { permissions: null }],
      ['permissions.0.actions', { permissions: [{ resource: 'a:b', actions: [] }] }],
      [
        'permissions.0.constraints.maxCallsPerHour',
        { permissions: [{ resource: 'a:b', actions: ['read'], constraints: { maxCallsPerHour: 1.5 } }] },
      ],
      ['expiresAt', { expiresAt: '' }],
      ['expiresAt', { expiresAt: 'tomorrow' }],
      ['metadata', { metadata: null }],
      ['metadata', { metadata: { a: 'x'.repeat(16 * 1024) } }],
      ['', []],
    ];
    for (const [path, patch] of bodies) {
      const r = await t.call('PATCH', `/agents/${id}`, {
        as: alice,
        body: { name: 'changed', ...(patch as object) },
        ...(Array.isArray(patch) ? { body: patch } : {}),
      });
      expect(r.status, JSON.stringify(patch).slice(0, 80)).toBe(400);
      expect(r.body.error, path).toMatchObject({ code: 'VALIDATION_FAILED', details: { issues: [{ path }] } });
    }
    for (const raw of [
      '',
      '{"name":"a","name":"b"}',
      '{"__proto__":{"name":"x"}}',
      '{"metadata":{"n":-1e400}}',
      '{"name":"\\ud800"}',
    ]) {
      expect(
        (await t.call('PATCH', `/agents/${id}`, { as: alice, raw, headers: { 'content-type': 'application/json' } }))
          .status,
        raw,
      ).toBe(400);
    }
    expect((await t.call('GET', `/agents/${id}`, { as: alice })).body).toEqual(made);
    expect(await eventsOf(t, id)).toHaveLength(1);
  });

  it('409 AGENT_REVOKED for any change', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice);
    await t.call('DELETE', `/agents/${id}`, { as: alice });
    for (const body of [
      {},
      { name: 'x' },
      { expiresAt: '2040-01-01T00:00:00Z' },
      { expiresAt: '2000-01-01T00:00:00Z' },
    ]) {
      const r = await t.call('PATCH', `/agents/${id}`, { as: alice, body });
      expect(r.status).toBe(409);
      expect(r.body.error.code).toBe('AGENT_REVOKED');
    }
    expect(await eventsOf(t, id)).toHaveLength(2);
  });

  it('422 EXPIRES_AT_IN_PAST for every time up to the current millisecond, and changes nothing', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice);
    for (const expiresAt of ['2030-01-15T10:10:00.000Z', '2020-01-01T00:00:00Z']) {
      const r = await t.call('PATCH', `/agents/${id}`, { as: alice, body: { name: 'changed', expiresAt } });
      expect(r.status).toBe(422);
      expect(r.body.error.code).toBe('EXPIRES_AT_IN_PAST');
    }
    expect((await t.call('GET', `/agents/${id}`, { as: alice })).body).toMatchObject({
      name: 'agent',
      expiresAt: null,
    });
  });

  it('422 AGENT_LIMIT_EXCEEDED when a reactivation exceeds the limit, exactly under parallel calls', async () => {
    const t = await createTestService({ config: { agents: { maxPerOwner: 10 } } });
    const alice = await t.user();
    const expired = await Promise.all(Array.from({ length: 10 }, () => t.agent(alice, { expiresAt: SOON })));
    t.clock.set(SOON);
    for (let i = 0; i < 6; i++) await t.agent(alice);
    const answers = await Promise.all(
      expired.map(({ id }) => t.call('PATCH', `/agents/${id}`, { as: alice, body: { expiresAt: null } })),
    );
    expect(answers.filter((r) => r.status === 200)).toHaveLength(4);
    for (const r of answers.filter((a) => a.status !== 200)) expect(r.body.error.code).toBe('AGENT_LIMIT_EXCEEDED');
    expect((await t.call('GET', '/agents?status=active', { as: alice })).body).toHaveLength(10);
    const active = answers.find((r) => r.status === 200)?.body.id;
    expect(
      (await t.call('PATCH', `/agents/${active}`, { as: alice, body: { expiresAt: '2031-01-01T00:00:00Z' } })).status,
    ).toBe(200);
  });
});

describe.each([
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/rotate'],
])('%s /agents/:id%s: refused callers', (method, path) => {
  it('401, 403 and 404, and nothing changes', async () => {
    const t = await createTestService();
    const [alice, bob] = [await t.user(), await t.user()];
    const agent = await t.agent(alice);
    const reader = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['read'] }] });
    const foreignGateway = await t.agent(bob, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    const send = (as: { token: string } | string | undefined, id = agent.id) =>
      t.call(method, `/agents/${id}${path}`, { as, ...(method === 'PATCH' ? { body: { name: 'taken' } } : {}) });

    expect((await send(undefined)).status).toBe(401);
    expect((await send('lgt_nonsense')).status).toBe(401);
    for (const as of [agent, reader, await t.apiToken(alice.id, ['agents:read'])]) {
      const r = await send(as);
      expect(r.status).toBe(403);
      expect(r.body.error.code).toBe('FORBIDDEN');
    }
    const absent = await send(alice, asId('agent', 'agt_00000000000000000000000000'));
    expect(absent.status).toBe(404);
    expect(absent.body.error.code).toBe('AGENT_NOT_FOUND');
    for (const as of [bob, foreignGateway, await t.apiToken(bob.id, ['agents:write'])])
      expect((await send(as)).text).toBe(absent.text);
    for (const id of ['x', '%00', '%E0%A4%A']) expect((await send(alice, asId('agent', id))).status).toBe(404);

    const { token: _, ...made } = agent.body;
    expect((await t.call('GET', `/agents/${agent.id}`, { as: agent })).body).toEqual(made);
    // The refusals themselves are events, which are written after the responses.
    const changes = (await eventsOf(t, agent.id)).filter(({ type }) => type !== 'auth.denied');
    expect(changes).toHaveLength(1);
  });
});
