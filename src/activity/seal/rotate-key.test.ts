import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { KeyStore } from '../../operations/keys/index.ts';
import { openDatabase } from '../../storage/index.ts';
import { openCheckpoint, parseKey, policyOfKeys, runVerify } from '../../verify/index.ts';
import { checkSealedLedger, endRolledBackLog, recordAddedKey, recordRetiredKeys, rotationState } from './index.ts';
import { sealer } from './sealer.ts';

/** Rotates the keys of a stopped service. */
async function changeKeys(
  { database: { url, name, dir }, clock }: TestService,
  secret: string | undefined,
  retire = false,
) {
  clock.advance(1000);
  const database = await openDatabase(url, { serviceName: name });
  const options = { database, dataDir: dir, secret, secretPrevious: undefined, now: () => clock.now() };
  const keys = await KeyStore.open(options);
  await (retire ? keys.retireLedgerKeys() : keys.addLedgerKey());
  await database.close();
}

/** Writes the proof of the newest row of a type to a file. */
async function proveRow(t: TestService, type: string): Promise<string> {
  const { seq } = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select('seq')
    .where('type', '=', type)
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow();
  const file = join(t.database.dir, `${type}.tlog-proof`);
  writeFileSync(file, await t.legate.ledger.proof(seq));
  return file;
}

const keysOf = async (t: TestService) => (await t.legate.ledger.keys()).keys;
const newestNote = (t: TestService) => t.legate.ledger.checkpoint();

describe.each([
  ['secrets.json', undefined],
  ['LEGATE_SECRET', Buffer.alloc(32, 7).toString('base64url')],
])('the key of the ledger, in %s', (_, secret) => {
  it('can be rotated; holders of the earlier key find the new one through a proven entry', async () => {
    const config = { ledger: { seal: 'on' }, ...(secret ? { secret } : {}) } as const;
    const first = await createTestService({ config });
    await first.user();
    const old = await newestNote(first);
    const anchor = join(first.database.dir, 'ledger-anchor');
    const [oldKey = ''] = await keysOf(first);
    expect(await rotationState(first.legate.platform)).toBe('none');
    await first.legate.close();
    const anchored = readFileSync(anchor, 'utf8');

    await changeKeys(first, secret);
    const second = await createTestService({ config, sameDatabaseAs: first });
    const { platform } = second.legate;
    const [newKey = '', ...others] = await keysOf(second);
    expect([others, newKey === oldKey]).toEqual([[oldKey], false]);
    expect(await rotationState(platform)).toBe('unrecorded');
    // The service signs the tree again, with both keys.
    await platform.stateOf(sealer).signNow();
    const note = await newestNote(second);
    for (const key of [oldKey, newKey])
      expect(openCheckpoint(note, policyOfKeys([parseKey(key)])).size).toBeGreaterThan(0);
    await platform.database.write.updateTable('seal').set({ checkpoint: anchored }).execute();
    expect(await recordRetiredKeys(platform)).toBeUndefined();
    expect([await recordAddedKey(platform), await recordAddedKey(platform)]).toEqual([newKey, newKey]);
    expect(await rotationState(platform)).toBe('recorded');
    const added = await proveRow(second, 'ledger.key-added');
    expect((await newestNote(second)).trimEnd().split('\n').length - old.trimEnd().split('\n').length).toBe(1);
    expect(await recordRetiredKeys(platform)).toEqual([oldKey]);
    await second.legate.close();

    await changeKeys(first, secret, true);
    // This is the data folder of an instance that was stopped during the rotation.
    writeFileSync(anchor, anchored);
    const third = await createTestService({ config, sameDatabaseAs: first });
    expect(await keysOf(third)).toEqual([newKey]);
    await third.agent(await third.user());
    const entry = await proveRow(third, 'agent.created');
    expect(await checkSealedLedger(third.legate.platform)).not.toHaveProperty('problem');
    const verify = (files: string[], key: string, followKeys: boolean) =>
      runVerify({ files, key: [key], followKeys }, () => {});
    expect(verify([entry], newKey, false)).toBe(0);
    expect(verify([entry, added], oldKey, false)).toBe(2);
    expect(verify([entry, added], oldKey, true)).toBe(0);
    expect(verify([entry], oldKey, true)).toBe(2);
    // An entry that adds a key counts only if it is proven.
    const forged = join(third.database.dir, 'forged.tlog-proof');
    writeFileSync(forged, readFileSync(added, 'utf8').replace(/^index \d+/m, 'index 0'));
    expect(verify([entry, forged], oldKey, true)).toBe(1);
    const ends = third.legate.platform.database.read.selectFrom('stream_events').select(['type', 'data']);
    const rows = await ends.where('type', 'like', 'ledger.key-%').orderBy('seq').execute();
    expect(rows.map(({ type, data }) => [type, JSON.parse(data ?? '').vkey])).toEqual([
      ['ledger.key-added', newKey],
      ['ledger.key-retired', oldKey],
    ]);
  });
});

it('a log that ended lists the keys that signed it, including those that were retired later', async () => {
  const config = { ledger: { seal: 'on' } } as const;
  const first = await createTestService({ config });
  const notes = [await newestNote(first)];
  const [ended] = await first.legate.ledger.logs();
  const keys = [...(await keysOf(first))];
  const rotate = async (from: TestService): Promise<TestService> => {
    await from.legate.close();
    await changeKeys(first, undefined);
    const both = await createTestService({ config, sameDatabaseAs: first });
    keys.unshift(await recordAddedKey(both.legate.platform));
    await proveRow(both, 'ledger.key-added');
    await recordRetiredKeys(both.legate.platform);
    notes.push(await newestNote(both));
    await both.legate.close();
    await changeKeys(first, undefined, true);
    return createTestService({ config, sameDatabaseAs: first });
  };
  const rotated = await rotate(first);
  await rotated.user();
  notes.push(await newestNote(rotated));
  await rotated.legate.close();
  const database = await openDatabase(first.database.url, { serviceName: first.database.name });
  await endRolledBackLog(database, first.database.dir, first.clock.now());
  await database.close();
  const inSecondLog = await rotate(await createTestService({ config, sameDatabaseAs: first }));

  const { body } = await inSecondLog.call('GET', `/ledger/${ended?.id}/keys`);
  expect(body).toEqual({ origin: ended?.origin, keys: keys.slice(1) });
  const policy = policyOfKeys(body.keys.map(parseKey));
  const ofEnded = notes.filter((note) => note.startsWith(`${ended?.origin}\n`));
  expect(ofEnded).toHaveLength(3);
  for (const note of ofEnded) expect(openCheckpoint(note, policy).origin).toBe(ended?.origin);
  expect(await keysOf(inSecondLog)).toEqual(keys.slice(0, 1));
});
