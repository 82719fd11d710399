import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createTestService, newTestDatabase, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { restoreBackup, writeBackup } from '../../operations/backup/index.ts';
import { openDatabase } from '../../storage/index.ts';
import { openCheckpoint, parseKey, policyOfKeys, verifyConsistency } from '../../verify/index.ts';
import { endRolledBackLog } from './index.ts';
import { thinCheckpoints } from './kept-checkpoints.ts';

const SEALED = { ledger: { seal: 'on' } } as const;

async function begin() {
  const t = await createTestService({ config: SEALED });
  return { t, agent: await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] }) };
}

/** Makes a decision, and signs a checkpoint that contains it. Returns the size of the tree. */
async function seal({ t, agent }: Awaited<ReturnType<typeof begin>>): Promise<number> {
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  await t.legate.ledger.proof(body.auditId);
  return (await t.legate.ledger.status()).signedSize;
}

const sizes = async (t: TestService, around: number, log = ''): Promise<(number | undefined)[]> => {
  const { body } = await t.call('GET', `/ledger${log}/checkpoints?around=${around}`);
  return [body.before?.size, body.after?.size];
};

describe('kept checkpoints', () => {
  it('are found before and after a row', async () => {
    const scene = await begin();
    const { t } = scene;
    for (let i = 0; i < 3; i++) {
      t.clock.advance(MINUTE_MS);
      await seal(scene);
    }
    const rows = await t.legate.platform.database.read.selectFrom('seal_checkpoints').select('size').execute();
    const kept = rows.map(({ size }) => size).sort((x, y) => x - y);
    const last = kept.at(-1) as number;
    expect(kept.length).toBeGreaterThan(2);
    for (let around = 1; around <= last + 1; around++)
      expect(await sizes(t, around)).toEqual([
        kept.findLast((size) => size < around),
        kept.find((size) => size >= around),
      ]);
    const { body } = await t.call('GET', `/ledger/checkpoints?around=${last}`);
    const { origin, keys } = await t.legate.ledger.keys();
    const { size } = openCheckpoint(body.after.checkpoint, policyOfKeys(keys.map(parseKey)));
    expect([body.origin, size]).toEqual([origin, last]);
    expect(await t.legate.ledger.checkpoints(last)).toEqual(body);
    for (const query of ['', '?around=0', '?around=x', '?around=1&more=1'])
      expect((await t.call('GET', `/ledger/checkpoints${query}`)).status).toBe(400);
  });

  it('are kept and thinned also after the clock was set back', async () => {
    const scene = await begin();
    const { t } = scene;
    const { platform } = t.legate;
    t.clock.advance(400 * DAY_MS);
    await seal(scene);
    await thinCheckpoints(platform);
    t.clock.advance(-400 * DAY_MS);
    await platform.ledger.resetClock(SYSTEM);
    const size = await seal(scene);
    expect(await sizes(t, size)).toEqual([expect.any(Number), size]);
    const signed_at = t.clock.now() - 8 * DAY_MS;
    const rows = [1001, 1002].map((size) => ({ log_id: 'other', size, note: '', signed_at }));
    await platform.database.write.insertInto('seal_checkpoints').values(rows).execute();
    await thinCheckpoints(platform);
    const kept = await platform.database.read
      .selectFrom('seal_checkpoints')
      .select('size')
      .where('log_id', '=', 'other')
      .execute();
    expect(kept).toEqual([{ size: 1001 }]);
  });

  it('are thinned to one an hour after 7 days and one a day after 90 days', async () => {
    const { t } = await begin();
    const { platform } = t.legate;
    const db = platform.database.write;
    const now = Math.floor(t.clock.now() / DAY_MS) * DAY_MS;
    const ages = [
      91 * DAY_MS,
      91 * DAY_MS - HOUR_MS,
      8 * DAY_MS,
      8 * DAY_MS - MINUTE_MS,
      8 * DAY_MS - HOUR_MS,
      HOUR_MS,
    ];
    const rows = ages.map((age, i) => ({ log_id: 'other', size: 1001 + i, note: '', signed_at: now - age }));
    await db.insertInto('seal_checkpoints').values(rows).execute();
    await thinCheckpoints(platform);
    const kept = await db.selectFrom('seal_checkpoints').select('size').where('log_id', '=', 'other').execute();
    expect(kept.map(({ size }) => size).sort()).toEqual([1001, 1003, 1005, 1006]);
  });
});

describe('a log by its id', () => {
  it('is the current log or an ended one, which keeps its checkpoints and hashes', async () => {
    const scene = await begin();
    const first = scene.t;
    const early = await seal(scene);
    const old = (await first.call('GET', '/ledger/checkpoint')).text;
    const size = await seal(scene);
    const [log] = await first.legate.ledger.logs();
    const at = `/${log?.id}`;
    const note = (await first.call('GET', `/ledger${at}/checkpoint`)).text;
    const policy = policyOfKeys((await first.legate.ledger.keys()).keys.map(parseKey));
    expect(openCheckpoint(note, policy).size).toBe(size);
    await first.legate.close();
    const closed = await createTestService({ sameDatabaseAs: first });
    await endRolledBackLog(closed.legate.platform.database, first.database.dir, 0);
    const t = await createTestService({ config: SEALED, sameDatabaseAs: first });
    const admin = await t.admin();
    const get = async (path: string) => {
      const { status, body, text } = await t.call('GET', `/ledger${path}`, { as: admin });
      return status === 200 ? text : body.error.code;
    };
    const ended = openCheckpoint(await get(`${at}/checkpoint`), policy);
    expect(ended.size).toBeGreaterThanOrEqual(size);
    verifyConsistency(old, await get(`${at}/consistency?from=${early}`), policy);
    expect(JSON.parse(await get(`${at}/keys`)).origin).toBe(log?.origin);
    expect(JSON.parse(await get(`${at}/logs`))).toHaveLength(2);
    expect(JSON.parse(await get(`${at}/status`))).toMatchObject({ sealing: false, origin: log?.origin });
    expect(await sizes(t, 1, at)).toEqual([undefined, expect.any(Number)]);
    const tile = await t.legate.fetch(new Request(`http://localhost:3000/ledger${at}/tile/0/000.p/${early}`));
    expect((await tile.arrayBuffer()).byteLength).toBe(32 * early);
    for (const path of ['/proof?seq=1', '/tile/entries/000.p/1']) expect(await get(at + path)).toBe('LEDGER_LOG_ENDED');
    for (const path of ['/checkpoint', '/tile/0/000.p/1', '/consistency?from=1', '/checkpoints?around=1', '/keys'])
      expect(await get(`/00000000${path}`)).toBe('LEDGER_LOG_NOT_FOUND');
    const [current] = await t.legate.ledger.logs();
    expect(await get(`/${current?.id}/proof?seq=1`)).toContain('index 0\n');
  });
});

it('a further instance with a checkpoint of the ended log in its folder keeps the log that has begun', async () => {
  const scene = await begin();
  await seal(scene);
  const { t: first } = scene;
  const { dir } = first.database;
  const recover = async () => {
    const { legate } = await createTestService({ sameDatabaseAs: first });
    const ended = await endRolledBackLog(legate.platform.database, dir, 0);
    await legate.close();
    return ended;
  };
  await first.legate.close();
  const anchor = readFileSync(join(dir, 'ledger-anchor'), 'utf8');
  const [origin = '', size] = anchor.split('\n');
  expect(await recover()).toMatchObject({ origin });
  const second = await createTestService({ config: SEALED, sameDatabaseAs: first });
  const [current] = await second.legate.ledger.logs();
  await second.legate.close();

  writeFileSync(join(dir, 'ledger-anchor'), anchor);
  await expect(createTestService({ config: SEALED, sameDatabaseAs: first })).rejects.toThrow('legate ledger recover');
  expect(await recover()).toEqual({ origin, current: current?.origin });
  const third = await createTestService({ config: SEALED, sameDatabaseAs: first });
  expect(await third.legate.ledger.logs()).toMatchObject([
    { id: current?.id, endedAt: null },
    { origin, size: Number(size) },
  ]);
});

it('a restore that ends between its commit and the end of the log leaves a log that signs nothing', async () => {
  const scene = await begin();
  await seal(scene);
  const { legate } = scene.t;
  const { origin } = await legate.ledger.status();
  const place = await newTestDatabase();
  const backup = join(place.dir, 'backup');
  await writeBackup(legate.platform.database, backup);
  const target = await openDatabase(place.url, { serviceName: place.name });
  const crash = (): void => {
    vi.spyOn(target.write, 'transaction').mockImplementation(() => {
      throw new Error('ended');
    });
  };
  await expect(restoreBackup(target, backup, { onTable: crash })).rejects.toThrow('ended');
  await target.close();

  const sameDatabaseAs = { database: place, clock: scene.t.clock } as unknown as TestService;
  const secrets = legate.platform.secrets();
  const start = () => createTestService({ config: SEALED, sameDatabaseAs, secrets });
  const halted = await start();
  expect(await halted.legate.ledger.status()).toMatchObject({
    origin,
    sealing: false,
    halted: expect.stringContaining('legate ledger recover'),
  });
  expect(await endRolledBackLog(halted.legate.platform.database, place.dir, 0)).toMatchObject({ origin });
  await halted.legate.close();
  const t = await start();
  expect(await t.legate.ledger.status()).toMatchObject({
    origin: expect.not.stringMatching(origin ?? ''),
    sealing: true,
  });
});

it('the key of the log is in the data folder before a checkpoint is given to anybody', async () => {
  const scene = await begin();
  await seal(scene);
  await scene.t.legate.close();
  const anchor = join(scene.t.database.dir, 'ledger-anchor');
  rmSync(anchor);
  const t = await createTestService({ config: SEALED, sameDatabaseAs: scene.t });
  const note = (await t.call('GET', '/ledger/checkpoint')).text;
  expect(readFileSync(anchor, 'utf8')).toBe(note);
});
