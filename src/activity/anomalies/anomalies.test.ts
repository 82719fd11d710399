import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  FakeClock,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let t: TestService;
let owner: TestUser;
let stranger: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  stranger = await t.user();
});

const agentOf = (user: TestUser = owner): Promise<TestAgent> =>
  t.agent(user, { permissions: [{ resource: 'ok:*', actions: ['read'] }] });
const times = async (
  n: number,
  agent: TestAgent,
  resource: string | ((i: number) => string) = 'ok:a:b',
  on = t,
): Promise<string[]> => {
  const answers = await Promise.all(
    Array.from({ length: n }, (_, i) =>
      on.authorize(agent, { action: 'read', resource: typeof resource === 'string' ? resource : resource(i) }),
    ),
  );
  return answers.map((a) => a.body.auditId);
};
const found = async (agent: TestAgent, query = '', on = t): Promise<Json[]> =>
  (await on.call('GET', `/anomalies?agentId=${agent.id}${query}`, { as: owner })).body;
const kinds = async (agent: TestAgent): Promise<string[]> => (await found(agent)).map((a) => a.kind);
const told = async (agent: TestAgent): Promise<Json[]> =>
  (
    await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('data')
      .where('type', '=', 'anomaly.detected')
      .where('agent_id', '=', agent.id)
      .orderBy('seq')
      .execute()
  ).map((r) => JSON.parse(r.data ?? ''));

describe('the detector', () => {
  it('denial_burst: is reported once per episode, with its evidence', async () => {
    const agent = await agentOf();
    await times(19, agent, 'no');
    expect(await found(agent)).toEqual([]);
    const [last] = await times(1, agent, 'no');
    await times(30, agent, 'no');
    const [anomaly, ...more] = await found(agent);
    expect(more).toEqual([]);
    expect(anomaly).toEqual({
      id: expect.stringMatching(/^ano_/),
      agentId: agent.id,
      kind: 'denial_burst',
      severity: 'medium',
      observed: 20,
      expected: 20,
      evidence: expect.arrayContaining([last]),
      status: 'open',
      detectedAt: new Date(t.clock.now()).toISOString(),
      acknowledgedAt: null,
      acknowledgedBy: null,
      note: null,
    });
    const { id: anomalyId, agentId, kind, severity, observed, expected, evidence } = anomaly;
    expect(await told(agent)).toEqual([{ anomalyId, agentId, kind, severity, observed, expected, evidence }]);
    t.clock.advance(59_000);
    await times(1, agent, 'no');
    t.clock.advance(59_000);
    await times(25, agent, 'no');
    expect((await found(agent)).length).toBe(1);
    t.clock.advance(61_000);
    await times(20, agent, 'no');
    expect((await found(agent)).length).toBe(2);
  });

  it('resource_probing: is reported for many different refused resources', async () => {
    const agent = await agentOf();
    await times(15, agent, 'secret:same');
    expect(await kinds(agent)).toEqual([]);
    for (let i = 0; i < 9; i++) {
      await times(1, agent, `secret:${i}`);
      t.clock.advance(MINUTE);
    }
    expect(await kinds(agent)).toEqual(['resource_probing']);
    expect((await found(agent))[0]).toMatchObject({ severity: 'high', observed: 10 });
  });

  it('new_namespace: is reported only for an agent with earlier calls', async () => {
    const agent = await agentOf();
    await times(1, agent, 'ok:first:a');
    await times(99, agent, 'ok:usual:a');
    expect(await kinds(agent)).toEqual([]);
    await times(1, agent, 'no:matter:x');
    const [evidence] = await times(1, agent, 'ok:new:a');
    await times(5, agent, 'ok:new:b');
    expect(await found(agent)).toMatchObject([
      {
        kind: 'new_namespace',
        severity: 'low',
        observed: 'ok:new',
        expected: 'ok:first, ok:usual',
        evidence: [evidence],
      },
    ]);
  });

  it.each(['in memory', 'from the ledger'])(
    "reports nothing for a person's decisions about approvals, which are not actions of the agent (%s)",
    async (how) => {
      const one = await createTestService({
        config: { anomalies: { newNamespace: { warmUpCalls: 1 }, probing: { resources: 2 } } },
      });
      const person = await one.user();
      const permissions = [
        { resource: 'ok:*', actions: ['read'] },
        { resource: 'ask:*', actions: ['read'], constraints: { requireApproval: true } },
      ];
      const agent = await one.agent(person, { permissions });
      await times(3, agent, 'ok:a', one);
      for (const verb of ['deny', 'approve', 'deny', 'deny']) {
        const { approvalId } = (
          await one.authorize(agent, { action: 'read', resource: 'ask:same', arguments: { verb } })
        ).body;
        expect((await one.call('POST', `/approvals/${approvalId}/${verb}`, { as: person })).status).toBe(200);
      }
      const looking =
        how === 'in memory'
          ? one
          : await createTestService({
              sameDatabaseAs: one,
              config: { anomalies: { newNamespace: { warmUpCalls: 1 }, probing: { resources: 2 } } },
            });
      expect((await looking.call('GET', '/anomalies', { as: person })).body).toEqual([]);
      await times(1, agent, 'no:more', one);
      expect((await looking.call('GET', '/anomalies', { as: person })).body).toMatchObject([
        { kind: 'resource_probing', observed: 2 },
      ]);
    },
  );

  it("rate_spike: compares with the agent's own baseline", async () => {
    const [calm, busy] = [await agentOf(), await agentOf()];
    for (let i = 0; i < 13; i++) {
      await times(2, calm);
      await times(30, busy);
      t.clock.advance(5 * MINUTE);
    }
    await times(60, calm);
    await times(60, busy);
    expect(await kinds(busy)).toEqual([]);
    expect(await found(calm)).toMatchObject([{ kind: 'rate_spike', observed: 50, expected: 2 }]);
    t.clock.advance(5 * MINUTE);
    await times(2, calm);
    t.clock.advance(5 * MINUTE);
    await times(60, calm);
    expect(await kinds(calm)).toEqual(['rate_spike', 'rate_spike']);
  });

  it('unusual_hour: is reported for an hour in which the agent does not usually work', async () => {
    const agent = await agentOf();
    t.clock.set('2030-03-01T09:00:00.000Z');
    for (let day = 0; day < 8; day++) {
      await times(5, agent);
      t.clock.advance(2 * HOUR);
      await times(5, agent);
      t.clock.advance(DAY - 2 * HOUR);
    }
    expect(await kinds(agent)).toEqual([]);
    t.clock.advance(-HOUR + 19 * HOUR);
    await times(3, agent);
    expect(await found(agent)).toMatchObject([{ kind: 'unusual_hour', observed: '03:00', expected: '09:00, 11:00' }]);
    t.clock.advance(6 * HOUR);
    await times(3, agent);
    expect((await found(agent)).length).toBe(1);
  });

  it('examines every decision once, across processes and restarts', async () => {
    const agent = await agentOf();
    await times(10, agent, 'no');
    await found(agent);
    const second = await createTestService({ sameDatabaseAs: t });
    if (dialect === 'postgres') {
      await Promise.all([times(6, agent, 'no'), times(6, agent, 'no', second)]);
      await Promise.all([found(agent), found(agent, '', second), found(agent)]);
    } else {
      await times(12, agent, 'no');
      await found(agent, '', second);
    }
    expect((await found(agent, '', second)).map((a) => a.kind)).toEqual(['denial_burst']);
    expect((await told(agent)).length).toBe(1);
    expect(await found(agent)).toEqual(await found(agent, '', second));
  });

  it('does nothing if it is switched off, and reads its thresholds from the configuration', async () => {
    const off = await createTestService({ clock: new FakeClock(), config: { anomalies: { enabled: false } } });
    const one = await off.user();
    const idle = await off.agent(one);
    await times(25, idle, 'no', off);
    expect((await off.call('GET', '/anomalies', { as: one })).body).toEqual([]);
    const strict = await createTestService({
      clock: new FakeClock(),
      config: { anomalies: { denialBurst: { count: 3 } } },
    });
    const two = await strict.user();
    await times(3, await strict.agent(two), 'no', strict);
    expect((await strict.call('GET', '/anomalies', { as: two })).body).toMatchObject([
      { kind: 'denial_burst', expected: 3 },
    ]);
  });
});

describe('GET /anomalies, GET /anomalies/:id, POST /anomalies/:id/acknowledge', () => {
  it('200, 404, 400: filters and pages, shows anomalies to the owner only, acknowledges once', async () => {
    const agent = await agentOf();
    await times(20, agent, (i) => `no:${i}`);
    const list = await found(agent);
    expect(new Set(list.map((a) => a.kind))).toEqual(new Set(['denial_burst', 'resource_probing']));
    const { id } = list[0];
    const path = `/anomalies/${id}`;
    expect((await t.call('GET', path, { as: owner })).body).toEqual(list[0]);
    expect((await found(agent, '&kind=denial_burst')).length).toBe(1);
    expect((await found(agent, '&severity=low')).length).toBe(0);
    expect((await found(agent, '&limit=1')).length).toBe(1);
    expect((await t.call('GET', `/anomalies?agentId=${agent.id}`, { as: stranger })).body).toEqual([]);
    expect((await t.call('GET', `/anomalies?kind=odd`, { as: owner })).body.error.details.issues).toMatchObject([
      { path: 'kind' },
    ]);
    expect((await t.call('GET', path, { as: stranger })).status).toBe(404);
    expect((await t.call('POST', `${path}/acknowledge`, { as: stranger })).body.error.code).toBe('ANOMALY_NOT_FOUND');
    expect((await t.call('GET', '/anomalies', { as: agent })).status).toBe(403);
    // An anomaly cannot be acknowledged by its own agent, nor by an agent with only the right to read it.
    const reader = await t.agent(owner, { permissions: [{ resource: 'legate:audit', actions: ['read', 'write'] }] });
    expect((await t.call('GET', path, { as: reader })).body).toEqual(list[0]);
    for (const as of [agent, reader]) expect((await t.call('POST', `${path}/acknowledge`, { as })).status).toBe(403);
    for (const body of [{ note: 7 }, { note: 'x'.repeat(1001) }, { seen: true }])
      expect(
        (await t.call('POST', `${path}/acknowledge`, { as: owner, body })).body.error.details.issues,
      ).toMatchObject([{ path: Object.keys(body)[0] }]);
    expect((await t.call('GET', path, { as: owner })).body.status).toBe('open');
    const seen = await t.call('POST', `${path}/acknowledge`, { as: owner, body: { note: 'a test' } });
    expect(seen.body).toMatchObject({ id, status: 'acknowledged', acknowledgedBy: owner.id, note: 'a test' });
    expect((await t.call('POST', `${path}/acknowledge`, { as: owner, body: { note: 'again' } })).body).toEqual(
      seen.body,
    );
    expect((await found(agent, '&status=acknowledged')).map((a) => a.id)).toEqual([id]);
    expect((await found(agent, '&status=open')).length).toBe(1);
  });
});
