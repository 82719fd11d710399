import { describe, expect, it } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../test/support/service.ts';
import { renewInstance } from './instances.ts';

interface Shown {
  readonly id: string;
  readonly seenAt: string;
  readonly current: boolean;
}

const shownTo = async (t: TestService, admin: TestUser): Promise<Shown[]> =>
  (await t.call('GET', '/system', { as: admin })).body.instances;
const idOf = (t: TestService): string => t.legate.platform.instance.id;

describe('instances on one database', () => {
  it('are shown by each of them until they stop, or do not renew their row for 30 s', async () => {
    const a = await createTestService();
    const admin = await a.admin();
    a.clock.advance(1000);
    const b = await createTestService({ sameDatabaseAs: a });
    const c = await createTestService({ sameDatabaseAs: a });
    for (const t of [b, c]) await t.legate.platform.background.idle();
    expect(await shownTo(a, admin)).toHaveLength(3);
    const byB = await shownTo(b, admin);
    expect(byB[0]).toEqual({
      id: idOf(a),
      host: expect.stringMatching(/./),
      version: expect.stringMatching(/^\d/),
      baseUrl: 'http://localhost:3000',
      startedAt: '2030-01-15T10:10:00.000Z',
      seenAt: expect.any(String),
      current: false,
    });
    expect(byB.filter(({ current }) => current).map(({ id }) => id)).toEqual([idOf(b)]);
    const { text } = await a.call('GET', '/metrics', { as: admin });
    expect([...text.matchAll(/^legate_instance_info\{instance="([^"]+)",host=".+",version=".+"\} 1$/gm)]).toHaveLength(
      3,
    );

    await c.legate.close();
    expect((await shownTo(a, admin)).map(({ id }) => id).sort()).toEqual([idOf(a), idOf(b)].sort());

    // B does not renew its row, as if it had been killed.
    a.clock.advance(31_000);
    await renewInstance(a.legate.platform);
    const rows = await a.legate.platform.database.read.selectFrom('instances').select('id').execute();
    expect(rows).toEqual([{ id: idOf(a) }]);
    expect((await shownTo(a, admin)).map(({ id }) => id)).toEqual([idOf(a)]);
    await renewInstance(b.legate.platform);
    expect(await shownTo(a, admin)).toHaveLength(2);
  });
});

it('instances with different public addresses are reported by log, metric and GET /system', async () => {
  const lines: string[] = [];
  const note = (_: object, message: string): void => void lines.push(message);
  const a = await createTestService({ log: { debug: () => {}, info: () => {}, warn: note, error: note } });
  const admin = await a.admin();
  const seen = async () => {
    const { body } = await a.call('GET', '/system', { as: admin });
    const { text } = await a.call('GET', '/metrics', { as: admin });
    return [body.warnings, /^legate_base_urls (\d)$/m.exec(text)?.[1]];
  };
  expect(await seen()).toEqual([[], '1']);
  const b = await createTestService({ sameDatabaseAs: a, config: { baseUrl: 'https://other.example.com' } });
  await renewInstance(b.legate.platform);
  for (let i = 0; i < 2; i++) await renewInstance(a.legate.platform);
  const warning = expect.stringMatching(/http:\/\/localhost:3000, https:\/\/other\.example\.com.*LEGATE_BASE_URL/);
  expect(lines).toEqual([warning]);
  expect(await seen()).toEqual([[warning], '2']);
  await b.legate.close();
  expect(await seen()).toEqual([[], '1']);

  const command = await createTestService({
    sameDatabaseAs: a,
    config: { baseUrl: 'https://unset.example.com' },
    serves: false,
    log: { debug: () => {}, info: () => {}, warn: note, error: note },
  });
  await renewInstance(command.legate.platform);
  await renewInstance(a.legate.platform);
  expect(lines).toEqual([warning]);
  expect(await seen()).toEqual([[], '1']);
});

describe('GET /metrics without the database', () => {
  it('contains the counts in memory', async () => {
    const t = await createTestService({ config: { metrics: { token: 'a metrics token of some length' } } });
    await t.legate.platform.database.close();
    const r = await t.call('GET', '/metrics', { as: 'a metrics token of some length' });
    expect(r.status).toBe(200);
    expect(r.text).toMatch(/^legate_ledger_failures_total 0$/m);
    expect(r.text).not.toMatch(/^legate_instance_info/m);
  });
});
