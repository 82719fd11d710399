import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { onDatabase } from '../../../test/support/database.ts';
import {
  createTestService,
  dialect,
  newTestDatabase,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { BackupError, restoreBackup, writeBackup } from './index.ts';

interface Place {
  readonly url: string;
  readonly name: string;
}

/** An empty SQLite file, whichever database the suite uses. */
async function sqlitePlace(): Promise<Place> {
  const { dir } = await newTestDatabase({ url: '', name: '' });
  return { url: `sqlite:${join(dir, 'other.db')}`, name: 'legate' };
}

/** Starts another service on a restored database, with the keys of the first. */
const open = (database: Place, { clock, legate }: TestService): Promise<TestService> =>
  createTestService({
    sameDatabaseAs: { database, clock } as unknown as TestService,
    secrets: legate.platform.secrets(),
  });

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
let dir: string;
let answered: string[];

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agent = await t.agent(owner, {
    permissions: [
      { resource: 'file:*', actions: ['read'], constraints: { maxCallsPerHour: 30 } },
      { resource: 'load:*', actions: ['read'] },
    ],
  });
  const ask = async (resource: string) => (await t.authorize(agent, { action: 'read', resource })).body;
  answered = [];
  for (let i = 0; i < 20; i++) answered.push((await ask(`file:${i} "\u2028 ß`)).auditId);
  dir = join((await newTestDatabase({ url: '', name: '' }, [])).dir, 'backup');
  // Decisions continue during the backup.
  let busy = true;
  const load = (async () => {
    while (busy) await ask('load:x');
  })();
  try {
    await onDatabase(t.database, (database) => writeBackup(database, dir));
  } finally {
    busy = false;
    await load;
  }
});

describe('a backup', () => {
  const targets: [string, () => Promise<Place>][] = [
    [`the same kind of database (${dialect})`, () => newTestDatabase()],
    ['SQLite', sqlitePlace],
  ];

  it.each(targets)(
    'can be restored into %s: the ledger is complete, tokens are valid, counters and rights are kept',
    async (_, place) => {
      const target = await place();
      const { manifest } = await onDatabase(target, (database) => restoreBackup(database, dir));
      expect(manifest.ledger.seq).toBeGreaterThanOrEqual(answered.length);
      const restored = await open(target, t);
      for (const id of answered) expect((await restored.call('GET', `/audit/${id}`, { as: owner })).status).toBe(200);
      expect((await restored.authorize(agent, { action: 'read', resource: 'file:new' })).body).toMatchObject({
        allowed: true,
      });
      expect((await restored.authorize(agent, { action: 'write', resource: 'file:new' })).body).toMatchObject({
        allowed: false,
      });
      // The cap was partly used before the backup.
      let allowed = 1;
      while ((await restored.authorize(agent, { action: 'read', resource: 'file:x' })).body.allowed) allowed++;
      expect(answered.length + allowed).toBe(30);
    },
  );

  it('can be restored from SQLite into the database of this suite', async () => {
    const [between, target] = [await sqlitePlace(), await newTestDatabase()];
    await onDatabase(between, (database) => restoreBackup(database, dir));
    const second = `${dir}-2`;
    const [first, again] = [
      await onDatabase(between, (database) => writeBackup(database, second)),
      (await onDatabase(target, (database) => restoreBackup(database, second))).manifest,
    ];
    expect(first.tables.map(({ name, rows }) => [name, rows])).toEqual(
      again.tables.map(({ name, rows }) => [name, rows]),
    );
    expect(again.ledger).toEqual(first.ledger);
  });

  it('is complete although entries were erased, and is refused if one was deleted without a record', async () => {
    const place = await newTestDatabase();
    await onDatabase(place, (database) => restoreBackup(database, dir));
    const erasing = await createTestService({
      sameDatabaseAs: { database: place, clock: t.clock } as unknown as TestService,
      secrets: t.legate.platform.secrets(),
      config: { audit: { eraseEntries: true } },
    });
    const body = { auditIds: answered.slice(0, 3), what: 'entry' };
    expect((await erasing.call('POST', '/audit/erasures', { as: await erasing.admin(), body })).body.erased).toBe(3);
    await erasing.legate.close();
    const erased = `${dir}-erased`;
    await onDatabase(place, (database) => writeBackup(database, erased));
    await onDatabase(await newTestDatabase(), (database) => restoreBackup(database, erased));
    await onDatabase(place, async (database) => {
      await database.write
        .deleteFrom('stream_events')
        .where('id', '=', answered[5] as never)
        .execute();
      await writeBackup(database, `${erased}-2`);
    });
    const again = onDatabase(await newTestDatabase(), (database) => restoreBackup(database, `${erased}-2`));
    await expect(again).rejects.toThrow('is incomplete');
  });

  it('is refused by a database that contains data, which does not change', async () => {
    const other = await createTestService();
    const someone = await other.user();
    await expect(onDatabase(other.database, (database) => restoreBackup(database, dir))).rejects.toThrow(
      'already has data',
    );
    expect((await other.call('GET', '/agents', { as: someone })).status).toBe(200);
  });

  it('is not made of a database that was restored in part, because it could not be restored', async () => {
    const damaged = await createTestService();
    await damaged.agent(await damaged.user());
    await damaged.legate.platform.database.write.updateTable('head').set({ seq: 0 }).execute();
    const empty = join(dir, '..', 'of-damaged');
    const backup = onDatabase(damaged.database, (database) => writeBackup(database, empty));
    await expect(backup).rejects.toThrow(BackupError);
    await expect(backup).rejects.toThrow('the head of the ledger is at sequence 0, but its newest row has');
    expect(readdirSync(empty)).toEqual([]);
  });

  it('is not written into a folder that contains files', async () => {
    await expect(onDatabase(t.database, (database) => writeBackup(database, dir))).rejects.toThrow('is not empty');
  });

  const damage: [string, (dir: string) => void][] = [
    [
      'a changed byte',
      (copy) => {
        const file = join(copy, 'stream_events.ndjson.gz');
        const bytes = readFileSync(file);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        writeFileSync(file, bytes);
      },
    ],
    ['a truncated file', (copy) => truncateSync(join(copy, 'agents.ndjson.gz'), 20)],
    ['a missing file', (copy) => rmSync(join(copy, 'head.ndjson.gz'))],
    ['no manifest', (copy) => rmSync(join(copy, 'manifest.json'))],
    [
      'an edited manifest',
      (copy) => {
        const file = join(copy, 'manifest.json');
        writeFileSync(file, readFileSync(file, 'utf8').replace('"format": 1', '"format": 2'));
      },
    ],
  ];
  it.each(damage)('is refused with %s, and nothing is written', async (_, harm) => {
    const copy = `${dir}-${Math.random()}`;
    cpSync(dir, copy, { recursive: true });
    harm(copy);
    const target = await newTestDatabase();
    await onDatabase(target, async (database) => {
      await expect(restoreBackup(database, copy)).rejects.toThrow(BackupError);
      await expect(database.read.selectFrom('users').selectAll().execute()).rejects.toThrow();
    });
  });

  it('contains no secret in plain text', () => {
    expect(readdirSync(dir)).not.toContain('secrets.json');
    for (const file of readdirSync(dir)) {
      const content = readFileSync(join(dir, file));
      const text = (file.endsWith('.gz') ? gunzipSync(content) : content).toString();
      for (const { token } of [agent, owner]) expect(text).not.toContain(token);
    }
  });
});
