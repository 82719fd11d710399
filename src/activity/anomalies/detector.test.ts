import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createTestService, dialect } from '../../../test/support/service.ts';
import { detect, newState } from './detect.ts';
import { AnomalyDetector, detectorOf } from './detector.ts';

const HISTORIES = dialect === 'sqlite' ? 40 : 8;
const AGENTS = 3;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      agent: fc.nat(AGENTS - 1),
      calls: fc.integer({ min: 1, max: 8 }),
      resource: fc.constantFrom('ok:a:b', 'ok:c:d', 'no:1', 'no:2', 'no:3'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look' as const), detector: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'stop' as const), detector: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 50 }) }) },
);

describe('several detectors that run, stop and crash', () => {
  it('report together what a single detector reports that sees every decision once', async () => {
    const anomalies = {
      denialBurst: { count: 4, windowSeconds: 20 },
      probing: { resources: 3, windowSeconds: 20 },
      newNamespace: { warmUpCalls: 5 },
    };
    const t = await createTestService({ config: { anomalies, agents: { maxPerOwner: 10_000 } } });
    const owner = await t.user();
    const { platform } = t.legate;
    const { read } = platform.database;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const agents = await Promise.all(
          Array.from({ length: AGENTS }, () =>
            t.agent(owner, { permissions: [{ resource: 'ok:*', actions: ['read'] }] }),
          ),
        );
        const detectors = Array.from({ length: 3 }, () => new AnomalyDetector(platform, 20));
        for (const s of steps) {
          if (s.do === 'decide') {
            const asked = Array.from({ length: s.calls }, () =>
              t.authorize(agents[s.agent] as (typeof agents)[number], { action: 'read', resource: s.resource }),
            );
            // Some decisions are made while a detector runs.
            await Promise.all([...asked, ...(s.calls % 2 ? [(detectors[s.agent] as AnomalyDetector).look()] : [])]);
          } else if (s.do === 'wait') t.clock.advance(s.seconds * 1000);
          else if (s.do === 'look')
            await Promise.all([
              (detectors[s.detector] as AnomalyDetector).look(),
              (detectors[(s.detector + 1) % 3] as AnomalyDetector).look(),
            ]);
          else {
            if (s.do === 'stop') await (detectors[s.detector] as AnomalyDetector).stop();
            detectors[s.detector] = new AnomalyDetector(platform, 20);
          }
        }
        await (detectors[0] as AnomalyDetector).look();
        for (const agent of agents) {
          const decisions = await read
            .selectFrom('stream_events')
            .selectAll()
            .where('type', '=', 'audit')
            .where('agent_id', '=', agent.id)
            .orderBy('seq')
            .execute();
          const state = newState();
          const expected = decisions.flatMap((d) =>
            detect(
              state,
              { auditId: d.id, resource: d.resource ?? '', allowed: d.result === 'allowed', at: d.timestamp },
              platform.config.anomalies,
            ),
          );
          const told = await read
            .selectFrom('anomalies')
            .selectAll()
            .where('agent_id', '=', agent.id)
            .orderBy('id')
            .execute();
          const sorted = (list: { kind: string; at: number; evidence: unknown }[]): string[] =>
            list.map(({ kind, at, evidence }) => JSON.stringify([at, kind, evidence])).sort();
          expect(
            sorted(told.map((a) => ({ kind: a.kind, at: a.detected_at, evidence: JSON.parse(a.evidence) as unknown }))),
          ).toEqual(sorted(expected));
        }
      }),
      { numRuns: HISTORIES },
    );
    // Some of the histories must have contained anomalies.
    expect((await read.selectFrom('anomalies').select('id').execute()).length).toBeGreaterThan(5);
  });
});

it('an agent is as well known as before after its state could not be read once', async () => {
  const t = await createTestService({ config: { anomalies: { newNamespace: { warmUpCalls: 5 } } } });
  const { platform } = t.legate;
  const { database } = platform;
  await detectorOf(platform).stop();
  const agent = await t.agent(await t.user(), { permissions: [{ resource: '*', actions: ['read'] }] });
  for (let i = 0; i < 6; i++) await t.authorize(agent, { action: 'read', resource: 'db:orders' });
  const before = new AnomalyDetector(platform, 20);
  await before.look();
  await before.stop();
  await t.authorize(agent, { action: 'read', resource: 'mail:outbox' });
  const { read } = database;
  const failing = new Proxy(read, {
    get: (db, key: 'selectFrom') => (table: 'agents') => {
      if ((table as string) === 'anomaly_states') throw new Error('the connection is gone');
      return db[key](table);
    },
  });
  const after = new AnomalyDetector(platform, 20);
  const reading = vi.spyOn(database, 'read', 'get').mockReturnValue(failing);
  await expect(after.look()).rejects.toThrow('the connection is gone');
  reading.mockRestore();
  await after.look();
  await after.stop();
  const found = await read.selectFrom('anomalies').select(['kind', 'observed']).execute();
  expect(found).toEqual([{ kind: 'new_namespace', observed: '"mail"' }]);
});

// Only PostgreSQL: an SQLite file belongs to one instance.
if (dialect === 'postgres') {
  it('one detector runs while the others wait, and another takes over when it stops', async () => {
    const t = await createTestService({
      config: { anomalies: { denialBurst: { count: 4 }, newNamespace: { warmUpCalls: 100 } } },
    });
    const { platform } = t.legate;
    await detectorOf(platform).stop();
    const owner = await t.user();
    const deny = async (): Promise<string> => {
      const agent = await t.agent(owner);
      for (let i = 0; i < 4; i++) await t.authorize(agent, { action: 'read', resource: 'no:1' });
      return agent.id;
    };
    const reported = async (): Promise<string[]> => {
      const rows = await platform.database.read.selectFrom('anomalies').select('agent_id').orderBy('id').execute();
      return rows.map(({ agent_id }) => agent_id);
    };
    const [looks, waits] = [new AnomalyDetector(platform, 20), new AnomalyDetector(platform, 20)];
    const first = await deny();
    await looks.look();
    await waits.lookInTurn();
    const second = await deny();
    await looks.lookInTurn();
    const third = await deny();
    await waits.lookInTurn();
    await waits.lookInTurn();
    expect(await reported()).toEqual([first, second]);
    await looks.stop();
    expect(await reported()).toEqual([first, second, third]);
    const fourth = await deny();
    await waits.lookInTurn();
    expect(await reported()).toEqual([first, second, third, fourth]);

    // As if `waits` were killed: it renews its lease no more.
    const next = new AnomalyDetector(platform, 20);
    const fifth = await deny();
    await next.lookInTurn();
    expect(await reported()).toEqual([first, second, third, fourth]);
    await platform.database.write.updateTable('leases').set({ until: 0 }).execute();
    await next.lookInTurn();
    expect(await reported()).toEqual([first, second, third, fourth, fifth]);

    const last = new AnomalyDetector(platform, 20);
    const sixth = await deny();
    await last.look();
    expect(await reported()).toEqual([first, second, third, fourth, fifth, sixth]);
    const seventh = await deny();
    // The others have lost their lease, and notice it.
    for (const other of [waits, next]) await other.lookInTurn();
    expect(await reported()).toEqual([first, second, third, fourth, fifth, sixth]);
    await last.lookInTurn();
    expect(await reported()).toEqual([first, second, third, fourth, fifth, sixth, seventh]);
    for (const detector of [waits, next, last]) await detector.stop();
  });
}
