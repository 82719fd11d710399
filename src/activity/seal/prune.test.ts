import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { parseKey, policyOfKeys, verifyExport, verifyProof } from '../../verify/index.ts';
import { checkSealedLedger, pruneLedger } from './index.ts';

const permissions = [
  { resource: 'db:*', actions: ['read'] },
  { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
];
/** More rows than a tile has. */
const OLD = 300;

interface Scene {
  readonly t: TestService;
  readonly owner: TestUser;
  readonly admin: TestUser;
  readonly agent: TestAgent;
}

async function createScene(config = {}, lasting = false): Promise<Scene> {
  const t = await createTestService({
    lasting,
    config: { ledger: { seal: 'on' }, audit: { retentionDays: 90 }, ...config },
  });
  const owner = await t.user();
  return { t, owner, admin: await t.admin(), agent: await t.agent(owner, { permissions }) };
}

async function decide({ t, agent }: Scene, count: number, resource = 'db:x'): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 100) {
    const requests = Array.from({ length: Math.min(100, left) }, () => ({ action: 'read', resource }));
    const r = await t.call('POST', '/authorize/batch', { as: agent, body: { requests } });
    expect(r.status, r.text).toBe(200);
    ids.push(...r.body.results.map((each: { auditId: string }) => each.auditId));
  }
  return ids;
}

const policyOf = async (t: TestService) => policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));
const problemOf = async (t: TestService) => (await checkSealedLedger(t.legate.platform)).problem;
const linesOf = (text: string): string[] => text.slice(0, -1).split('\n');
const rowsOf = (t: TestService) =>
  t.legate.platform.database.read.selectFrom('stream_events').select(['seq', 'type', 'data']).orderBy('seq').execute();

describe('audit.retentionDays', () => {
  let scene: Scene;
  let old: string[];
  let kept: string[];
  let end: number;
  beforeAll(async () => {
    scene = await createScene({}, true);
    const { t, agent, owner } = scene;
    old = await decide(scene, OLD);
    const asked = await t.call('POST', '/authorize', {
      as: agent,
      body: { action: 'pay', resource: 'bank:1', arguments: { to: 'Rue des Lilas 7' } },
    });
    // Without an answer the approval would lapse later, and that event would be among the kept rows.
    await t.call('POST', `/approvals/${asked.body.approvalId}/deny`, { as: owner });
    await t.call('POST', '/webhooks', { as: owner, body: { url: 'https://hooks.example', types: ['audit'] } });
    end = (await rowsOf(t)).at(-1)?.seq as number;
    t.clock.advance(91 * DAY_MS);
    kept = await decide(scene, 20, 'db:new');
    await t.legate.ledger.proof(kept[0] as string);
    await pruneLedger(t.legate.platform);
  });

  it('deletes older rows, and records their range', async () => {
    const { t, owner, admin } = scene;
    const rows = await rowsOf(t);
    expect(rows.filter(({ seq }) => seq <= end).map(({ type }) => type)).toEqual(['ledger.begun']);
    const pruned = rows.filter(({ type }) => type === 'ledger.pruned');
    expect(pruned.map(({ data }) => data)).toEqual([`{"below":${end + 1}}`]);
    expect((await t.call('GET', `/audit/${old[0]}`, { as: owner })).status).toBe(404);
    expect((await t.call('GET', `/audit/${kept[0]}`, { as: owner })).status).toBe(200);
    expect((await t.call('GET', '/audit?limit=1000', { as: owner })).body.length).toBe(20);
    const facets = await t.call('GET', '/audit/facets?by=resource', { as: owner });
    expect(facets.body).toMatchObject({ total: 20, values: [{ value: 'db:new', count: 20 }] });
    const events = await t.call('GET', '/events?types=ledger.pruned', { as: admin });
    expect(events.body).toMatchObject([{ data: { below: end + 1 }, actor: { kind: 'system' } }]);
    expect((await t.call('GET', '/events?types=ledger.pruned', { as: owner })).body).toEqual([]);
  });

  it('deletes copies, salts and tiles of the rows', async () => {
    const { read } = scene.t.legate.platform.database;
    expect(JSON.stringify(await read.selectFrom('approvals').selectAll().execute())).not.toContain('Lilas');
    const tiles = await read.selectFrom('seal_tiles').selectAll().where('level', '=', 0).orderBy('tile').execute();
    // The first tile contains `ledger.begun`, which is kept.
    expect(tiles.map(({ tile }) => tile)).toEqual([0, 1]);
    const salts = tiles.map((tile) => Buffer.from(tile.salts ?? []));
    const left = (at: number, from: number, to: number) => salts[at]?.subarray(from * 16, to * 16).some((b) => b !== 0);
    expect(left(0, 0, 256)).toBe(true);
    expect(left(0, 10, 256)).toBe(false);
    expect(left(1, 0, end - 256)).toBe(false);
    expect(left(1, end - 256, 256)).toBe(true);
  });

  it('does not invalidate other proofs', async () => {
    const { t, admin, owner } = scene;
    const policy = await policyOf(t);
    for (const id of [kept[0], kept.at(-1)]) {
      const r = await t.call('GET', `/audit/${id}/proof`, { as: owner });
      expect(verifyProof(r.text, policy).entry.fields['resource']).toBe('db:new');
    }
    const begun = await t.call('GET', '/ledger/proof?seq=1', { as: admin });
    expect(verifyProof(begun.text, policy).entry.type).toBe('ledger.begun');
    for (const seq of [2, 250, end])
      expect((await t.call('GET', `/ledger/proof?seq=${seq}`, { as: admin })).body.error.code).toBe(
        'LEDGER_ROW_NOT_FOUND',
      );
    expect(await problemOf(t)).toBeUndefined();
    const { signedSize } = (await t.call('GET', '/ledger/status', { as: admin })).body;
    expect((await t.call('GET', `/ledger/consistency?from=${end + 3}&to=${signedSize}`)).status).toBe(200);
  });

  it('exports the remaining rows, and explains the deleted ones', async () => {
    const { t, admin } = scene;
    const policy = await policyOf(t);
    const whole = await t.call('GET', '/audit/export?format=sealed', { as: admin });
    expect(verifyExport(linesOf(whole.text), policy)).toMatchObject({ complete: true, from: end + 1, unexplained: [] });
    const before = await t.call('GET', `/audit/export?format=sealed&fromSeq=${end - 2}`, { as: admin });
    expect(verifyExport(linesOf(before.text), policy)).toMatchObject({ from: end - 2, unexplained: [] });
    expect(linesOf(before.text)[1]).toMatch(/^{"hash"/);
  });

  it('reports a row that was deleted without a record, or by a record with a changed position', async () => {
    const { t } = scene;
    const { write } = t.legate.platform.database;
    const row = await write
      .selectFrom('stream_events')
      .selectAll()
      .where('seq', '=', end + 5)
      .executeTakeFirstOrThrow();
    const position = write.updateTable('projections').where('name', '=', 'audit/retention');
    await write.deleteFrom('stream_events').where('seq', '=', row.seq).execute();
    expect(await problemOf(t)).toBe(`row ${row.seq} differs from what was sealed`);
    await position.set({ upto: end + 10 }).execute();
    expect(await problemOf(t)).toBe(`row ${row.seq} differs from what was sealed`);
    await position.set({ upto: end }).execute();
    await write.insertInto('stream_events').values(row).execute();
    expect(await problemOf(t)).toBeUndefined();
  });

  it('continues a day later, and deletes all tiles that no other proof needs', async () => {
    const { t } = scene;
    await decide(scene, OLD);
    const last = (await rowsOf(t)).at(-1)?.seq as number;
    t.clock.advance(90 * DAY_MS + 3_600_000);
    const [id] = await decide(scene, 1, 'db:newest');
    await t.legate.ledger.proof(id as string);
    await pruneLedger(t.legate.platform);
    expect((await rowsOf(t)).filter(({ type }) => type === 'ledger.pruned').length).toBe(1);
    t.clock.advance(DAY_MS);
    await pruneLedger(t.legate.platform);
    const rows = await rowsOf(t);
    expect(rows.filter(({ seq }) => seq <= last).map(({ type }) => type)).toEqual(['ledger.begun']);
    const tiles = await t.legate.platform.database.read
      .selectFrom('seal_tiles')
      .select('tile')
      .where('level', '=', 0)
      .orderBy('tile')
      .execute();
    expect(tiles.map(({ tile }) => tile)).toEqual([0, 2]);
    expect((await t.call('GET', '/ledger/tile/0/001')).status).toBe(404);
    expect((await t.call('GET', '/audit/export?format=sealed&fromSeq=300', { as: scene.admin })).body.error.code).toBe(
      'LEDGER_ROW_NOT_FOUND',
    );
    verifyProof(await t.legate.ledger.proof(id as string), await policyOf(t));
    expect(await problemOf(t)).toBeUndefined();
  });
});

it('deletes nothing by default, and never deletes changed rows', async () => {
  const scene = await createScene();
  const { t } = scene;
  const [id] = await decide(scene, 3);
  await t.legate.ledger.proof(id as string);
  t.clock.advance(100 * DAY_MS);
  const set = (columns: object) =>
    t.legate.platform.database.write
      .updateTable('stream_events')
      .set(columns)
      .where('id', '=', id as never)
      .execute();
  await set({ result: 'denied' });
  await expect(pruneLedger(t.legate.platform)).rejects.toThrow('differs from what was sealed');
  expect((await t.call('GET', `/audit/${id}`, { as: scene.admin })).status).toBe(200);
  await set({ result: 'allowed' });
  const other = await createTestService({ sameDatabaseAs: t, config: { ledger: { seal: 'on' } } });
  await pruneLedger(other.legate.platform);
  expect((await t.call('GET', `/audit/${id}`, { as: scene.admin })).status).toBe(200);
  await Promise.all([pruneLedger(t.legate.platform), pruneLedger(t.legate.platform)].map((p) => p.catch(() => {})));
  t.clock.advance(3_600_000);
  await pruneLedger(t.legate.platform);
  expect((await t.call('GET', `/audit/${id}`, { as: scene.admin })).status).toBe(404);
});

it('an instance whose newest checkpoint covers only deleted rows starts', async () => {
  const scene = await createScene();
  const { t } = scene;
  const anchor = join(t.database.dir, 'ledger-anchor');
  await t.legate.ledger.proof((await decide(scene, OLD))[0] as string);
  const old = readFileSync(anchor, 'utf8');
  await decide(scene, 600);
  t.clock.advance(91 * DAY_MS);
  const [kept = ''] = await decide(scene, 1);
  await t.legate.ledger.proof(kept);
  await pruneLedger(t.legate.platform);
  writeFileSync(anchor, old);
  const other = await createTestService({ config: { ledger: { seal: 'on' } }, sameDatabaseAs: t });
  verifyProof(await other.legate.ledger.proof(kept), await policyOf(t));
});

it('sealing that was off while retention deleted rows resumes', async () => {
  const scene = await createScene();
  const { t } = scene;
  await decide(scene, OLD);
  const { origin } = await t.legate.ledger.keys();
  await t.legate.ledger.proof(1);
  const off = await createTestService({ config: { audit: { retentionDays: 90 } }, sameDatabaseAs: t });
  await t.legate.close();
  await decide({ ...scene, t: off }, 600);
  t.clock.advance(91 * DAY_MS);
  await decide({ ...scene, t: off }, 1);
  await pruneLedger(off.legate.platform);
  const on = await createTestService({ config: { ledger: { seal: 'on' } }, sameDatabaseAs: t });
  const [kept] = await decide({ ...scene, t: on }, 1);
  verifyProof(await on.legate.ledger.proof(kept as string), await policyOf(on));
  expect((await on.legate.ledger.keys()).origin).toBe(origin);
  expect(await problemOf(on)).toBeUndefined();
});

it('after a reset of the clock, rows are deleted at their time, whatever a fast clock recorded', async () => {
  const scene = await createScene();
  const { t } = scene;
  const { platform } = t.legate;
  await decide(scene, 5);
  t.clock.advance(400 * DAY_MS);
  const fast = await decide(scene, 1);
  await t.legate.ledger.proof(fast[0] as string);
  await pruneLedger(platform);
  t.clock.advance(-400 * DAY_MS);
  await platform.ledger.resetClock(SYSTEM);
  const old = await decide(scene, 5);
  t.clock.advance(92 * DAY_MS);
  const kept = await decide(scene, 1);
  await t.legate.ledger.proof(kept[0] as string);
  await pruneLedger(platform);
  const statuses = [];
  for (const id of [...fast, ...old, ...kept])
    statuses.push((await t.call('GET', `/audit/${id}`, { as: scene.admin })).status);
  expect(statuses).toEqual([404, 404, 404, 404, 404, 404, 200]);
  expect(await problemOf(t)).toBeUndefined();
});
