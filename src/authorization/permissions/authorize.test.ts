import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestService, type TestAgent, type TestService } from '../../../test/support/service.ts';
import { newWorld, type World } from '../../../test/support/world.ts';
import { asId } from '../../kernel/ids.ts';

const capped = (maxCallsPerHour: number, resource = 'mcp:gh:*', actions = ['read']) => ({
  resource,
  actions,
  constraints: { maxCallsPerHour },
});

const world = (permissions?: object[]): Promise<World> => newWorld(permissions && { permissions });
const records = (t: TestService) =>
  t.legate.platform.database.read
    .selectFrom('stream_events')
    .selectAll()
    .where('type', '=', 'audit')
    .orderBy('seq')
    .execute();

describe('POST /authorize', () => {
  it('200 for an allowed and a denied call, each with exactly one audit entry', async () => {
    const { t, agent } = await world();
    const yes = await t.authorize(agent, { action: 'read', resource: 'db:x' });
    const no = await t.authorize(agent, { action: 'write', resource: 'db:x' });
    expect([yes.status, yes.body]).toEqual([200, { allowed: true, auditId: expect.stringMatching(/^aud_/) }]);
    expect([no.status, no.body]).toEqual([
      200,
      { allowed: false, auditId: expect.stringMatching(/^aud_/), reason: 'NO_PERMISSION' },
    ]);
    expect((await records(t)).map((r) => [r.id, r.result, r.reason])).toEqual([
      [yes.body.auditId, 'allowed', null],
      [no.body.auditId, 'denied', 'NO_PERMISSION'],
    ]);
  });

  it('200 with a refusal for a revoked or expired agent; 401 for its own token', async () => {
    const { t, owner, agent } = await world();
    await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { expiresAt: '2030-01-15T11:00:00.000Z' } });
    const ask = (as: { token: string }) => t.authorize(as, { agentId: agent.id, action: 'read', resource: 'db:x' });
    t.clock.set('2030-01-15T10:59:59.999Z');
    expect([(await ask(owner)).body.allowed, (await ask(agent)).body.allowed]).toEqual([true, true]);
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect((await ask(owner)).body).toMatchObject({
      allowed: false,
      reason: 'AGENT_EXPIRED',
      auditId: expect.any(String),
    });
    expect((await ask(agent)).status).toBe(401);
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect((await ask(owner)).body).toMatchObject({
      allowed: false,
      reason: 'AGENT_REVOKED',
      auditId: expect.any(String),
    });
    expect((await ask(agent)).status).toBe(401);
    expect((await records(t)).map((r) => r.reason)).toEqual([null, null, 'AGENT_EXPIRED', 'AGENT_REVOKED']);
  });

  it('200 RATE_LIMITED with the time of reset; the counter restarts with the next clock hour', async () => {
    const { t, agent } = await world([capped(2)]);
    const ask = async () => (await t.authorize(agent, { action: 'read', resource: 'mcp:gh:x' })).body;
    t.clock.set('2030-01-15T10:59:30.500Z');
    expect([(await ask()).allowed, (await ask()).allowed]).toEqual([true, true]);
    expect(await ask()).toEqual({
      allowed: false,
      auditId: expect.any(String),
      reason: 'RATE_LIMITED',
      retryAfter: 30,
      limit: 2,
      remaining: 0,
      resetAt: '2030-01-15T11:00:00.000Z',
    });
    t.clock.set('2030-01-15T10:59:59.999Z');
    expect((await ask()).retryAfter).toBe(1);
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect([(await ask()).allowed, (await ask()).allowed, (await ask()).allowed]).toEqual([true, true, false]);
  });

  it('200: counts allowed calls per entry, not per resource; entries do not share counts', async () => {
    const { t, agent } = await world([capped(3), capped(2, 'mcp:gh:*', ['write']), capped(1, 'mcp:slack:*')]);
    const ask = async (action: string, resource: string) => {
      const { body } = await t.authorize(agent, { action, resource });
      return body.allowed || body.reason;
    };
    expect([
      await ask('read', 'mcp:gh:a'),
      await ask('read', 'mcp:gh:b'),
      await ask('delete', 'mcp:gh:a'),
      await ask('read', 'mcp:gh:c'),
      await ask('read', 'mcp:gh:d'),
    ]).toEqual([true, true, 'NO_PERMISSION', true, 'RATE_LIMITED']);
    expect([await ask('write', 'mcp:gh:a'), await ask('write', 'mcp:gh:a'), await ask('write', 'mcp:gh:a')]).toEqual([
      true,
      true,
      'RATE_LIMITED',
    ]);
    expect([await ask('read', 'mcp:slack:a'), await ask('read', 'mcp:slack:a')]).toEqual([true, 'RATE_LIMITED']);
  });

  it('200: two agents with equal permissions have separate counts', async () => {
    const { t, owner } = await world([]);
    for (const constraints of [undefined, { maxCallsPerHour: 1 }]) {
      const permissions = [{ resource: 'twin:*', actions: ['read'], ...(constraints && { constraints }) }];
      const [one, other] = [await t.agent(owner, { permissions }), await t.agent(owner, { permissions })];
      const asks = async (agent: TestAgent) =>
        (await t.authorize(agent, { action: 'read', resource: 'twin:x' })).body.allowed;
      expect([await asks(one), await asks(other)]).toEqual([true, true]);
      await t.call('PATCH', `/agents/${one.id}`, { as: owner, body: { permissions: [] } });
      expect([await asks(one), await asks(other)]).toEqual([false, constraints === undefined]);
    }
  });

  it('200: the count survives changes of the limit and of other entries, and a restart', async () => {
    const { t, owner, agent } = await world([capped(2)]);
    const ask = async (on: TestService = t) =>
      (await on.authorize(agent, { action: 'read', resource: 'mcp:gh:x' })).body.allowed;
    expect([await ask(), await ask(), await ask()]).toEqual([true, true, false]);
    const edit = (permissions: object[]) =>
      t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions } });
    await edit([{ resource: 'db:x', actions: ['read'] }, capped(3)]);
    expect([await ask(), await ask()]).toEqual([true, false]);
    await edit([capped(1)]);
    expect(await ask()).toBe(false);
    await edit([capped(4)]);
    const again = await createTestService({ sameDatabaseAs: t });
    expect([await ask(again), await ask(again), await ask()]).toEqual([true, false, false]);
  });

  it('200: allows exactly the limit of 200 parallel calls', async () => {
    const { t, agent } = await world([capped(20)]);
    for (let hour = 0; hour < 3; hour++) {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, i) => t.authorize(agent, { action: 'read', resource: `mcp:gh:${i}` })),
      );
      expect(answers.filter((r) => r.body.allowed)).toHaveLength(20);
      expect(answers.filter((r) => r.body.reason === 'RATE_LIMITED')).toHaveLength(180);
      t.clock.advance(3_600_000);
    }
    expect(await records(t)).toHaveLength(600);
  });

  it('200 for a dry run: the same answer, without counting, recording or an auditId', async () => {
    const { t, agent } = await world([capped(1)]);
    const ask = { action: 'read', resource: 'mcp:gh:x' };
    for (let i = 0; i < 3; i++)
      expect((await t.authorize(agent, { ...ask, dryRun: true })).body).toEqual({ allowed: true });
    expect((await t.authorize(agent, ask)).body.allowed).toBe(true);
    expect((await t.authorize(agent, { ...ask, dryRun: true })).body).toMatchObject({
      allowed: false,
      reason: 'RATE_LIMITED',
      limit: 1,
    });
    expect(await records(t)).toHaveLength(1);
    expect(await t.legate.platform.database.read.selectFrom('counters').select('used').execute()).toEqual([
      { used: 1 },
    ]);
  });

  it('404 for an unknown agent and one of another owner, 401 without a credential; nothing is recorded', async () => {
    const { t, owner, agent } = await world();
    const stranger = await t.user();
    const body = { agentId: agent.id, action: 'read', resource: 'db:x' };
    expect((await t.authorize(stranger, body)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await t.authorize(await t.agent(stranger), body)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await t.authorize(await t.agent(owner), body)).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await t.authorize(owner, { ...body, agentId: 'agt_unknown' })).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await t.authorize(owner, { ...body, agentId: "x' or 1=1" })).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await t.call('POST', '/authorize', { body })).status).toBe(401);
    expect(await records(t)).toEqual([]);
  });

  it('200 for a gateway agent, only about agents of its owner', async () => {
    const { t, owner, agent } = await world();
    const gateway = await t.agent(owner, { permissions: [{ resource: 'legate:authorize', actions: ['check'] }] });
    const capped = await t.agent(owner, {
      permissions: [{ resource: 'legate:authorize', actions: ['check'], constraints: { maxCallsPerHour: 9 } }],
    });
    const empty = await t.agent(owner, {
      permissions: [{ resource: 'legate:authorize', actions: ['check'], constraints: {} }],
    });
    const theirs = await t.agent(await t.user(), { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    const ask = (as: TestAgent, about: TestAgent) =>
      t.authorize(as, { agentId: about.id, action: 'read', resource: 'db:x' });
    expect((await ask(gateway, agent)).body.allowed).toBe(true);
    expect((await ask(empty, agent)).body.allowed).toBe(true);
    expect((await ask(gateway, theirs)).status).toBe(404);
    expect((await ask(theirs, agent)).status).toBe(404);
    expect((await ask(capped, agent)).status).toBe(404);
  });

  it.each(['*', '*:*', '*:authorize'])(
    '%s gives access to no endpoint of the service, because the pattern must name legate',
    async (resource) => {
      const { t, owner, agent } = await world();
      const body = { action: 'read', resource: 'legate:audit' };
      const everything = await t.agent(owner, { permissions: [{ resource, actions: ['*'] }] });
      expect((await t.authorize(everything, { ...body, agentId: agent.id })).status).toBe(404);
      expect((await t.call('GET', `/agents/${agent.id}`, { as: everything })).status).toBe(404);
      for (const path of ['/agents', '/audit', '/webhooks', '/approvals', '/budgets', '/costs', '/events']) {
        const named = await t.agent(owner, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
        const seen = (await t.call('GET', path, { as: named })).status;
        expect([path, seen]).toEqual([path, 200]);
        const { status, body } = await t.call('GET', path, { as: everything });
        if (status === 200) for (const { agentId, id } of body) expect(agentId ?? id).toBe(everything.id);
        else expect([path, status]).toEqual([path, 403]);
      }
      // A decision about the resource name itself is allowed; it grants no access to the service.
      expect((await t.authorize(everything, body)).body.allowed).toBe(resource !== '*:authorize');
    },
  );
});

describe('POST /authorize/batch', () => {
  it('200 with results in order and an error for an invisible agent; each decision is recorded once', async () => {
    const { t, owner, agent } = await world([{ resource: 'db:*', actions: ['read'] }, capped(1)]);
    const ask = (action: string, resource: string, agentId = agent.id) => ({ agentId, action, resource });
    const r = await t.call('POST', '/authorize/batch', {
      as: owner,
      body: {
        requests: [
          ask('read', 'db:1'),
          ask('write', 'db:1'),
          ask('read', 'mcp:gh:1'),
          ask('read', 'mcp:gh:2'),
          ask('read', 'db:1', asId('agent', 'agt_unknown')),
          { ...ask('read', 'db:2'), dryRun: true },
        ],
      },
    });
    expect(r.status).toBe(200);
    expect(r.body.results).toEqual([
      { allowed: true, auditId: expect.any(String) },
      { allowed: false, auditId: expect.any(String), reason: 'NO_PERMISSION' },
      { allowed: true, auditId: expect.any(String) },
      expect.objectContaining({ allowed: false, reason: 'RATE_LIMITED' }),
      { error: { code: 'AGENT_NOT_FOUND', message: expect.any(String) } },
      { allowed: true },
    ]);
    expect((await records(t)).map((x) => x.id)).toEqual(
      r.body.results.flatMap((x: { auditId?: string }) => x.auditId ?? []),
    );
  });

  it('400 for an empty list, more than 100 questions or an invalid one, which it names; decides nothing', async () => {
    const { t, owner, agent } = await world();
    const ask = { agentId: agent.id, action: 'read', resource: 'db:1' };
    for (const [requests, path] of [
      [[], 'requests'],
      [Array(101).fill(ask), 'requests'],
      [[ask, { ...ask, action: 1 }], 'requests.1.action'],
      [[ask, { action: 'a', resource: 'b' }], 'requests.1.agentId'],
      [[ask, { ...ask, nonsense: 1 }], 'requests.1.nonsense'],
    ] as const) {
      const r = await t.call('POST', '/authorize/batch', { as: owner, body: { requests } });
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, path]);
    }
    expect(await records(t)).toEqual([]);
    const hundred = await t.call('POST', '/authorize/batch', { as: owner, body: { requests: Array(100).fill(ask) } });
    expect(hundred.body.results).toHaveLength(100);
  });

  it('422 for a draft that is too large; decides nothing, and leaves no error unhandled', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const { t, owner, agent } = await world();
    const ask = { agentId: agent.id, action: 'read', resource: 'db:1' };
    const allowedArgPatterns = Array.from({ length: 50 }, (_, i) => `/${i}/**`);
    const heavy = Array.from({ length: 6 }, (_, i) => ({
      resource: `fs:${i}`,
      actions: ['read'],
      constraints: { allowedArgPatterns },
    }));
    const requests = [ask, { ...ask, dryRun: true, permissions: heavy }];
    for (const as of [owner, await t.user({ role: 'auditor' })]) {
      const r = await t.call('POST', '/authorize/batch', { as, body: { requests } });
      expect([r.status, r.body.error.code]).toEqual([422, 'POLICY_TOO_LARGE']);
      await t.authorize(owner, { ...ask, dryRun: true });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(unhandled).toEqual([]);
    expect(await records(t)).toEqual([]);
    const asked = t.legate.authorize({ ...ask, dryRun: true, permissions: heavy });
    await expect(asked).rejects.toMatchObject({ code: 'POLICY_TOO_LARGE' });
  });
});
