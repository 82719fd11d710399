import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createTestService, dialect } from '../../../test/support/service.ts';
import { checkSealedLedger } from './index.ts';
import { SALT } from './salts.ts';

it('a check names the first bad row also if the record of an erasure is no longer JSON, or another one', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  const { seq } = (await t.legate.audit.query({})).entries[0] as { seq: number };
  const { recordedAs } = await t.legate.ledger.erase({ auditIds: [body.auditId] });
  await t.legate.ledger.proof(recordedAs[0] as number);
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  for (const data of ['nonsense', 'null', '{}', '{"what":"private","seqs":"all"}']) {
    const change = t.legate.platform.database.write.updateTable('stream_events').set({ data });
    await change.where('type', '=', 'audit.erased').execute();
    expect(await checkSealedLedger(t.legate.platform), data).toMatchObject({ firstBad: seq });
  }
});

it('salts that are cut off, and a log that claims more rows than it has, are named by a check', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const [admin, agent] = [await t.admin(), await t.agent(await t.user())];
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  const { seq } = (await t.call('GET', `/audit/${body.auditId}`, { as: admin })).body;
  const proofOf = (row: number) => t.call('GET', `/ledger/proof?seq=${row}`, { as: admin });
  expect((await proofOf(seq)).status).toBe(200);

  const { read, write } = t.legate.platform.database;
  const setSalts = (salts: Uint8Array) => write.updateTable('seal_tiles').set({ salts }).execute();
  const { salts } = await read.selectFrom('seal_tiles').select('salts').executeTakeFirstOrThrow();
  const all = Buffer.from(salts as Uint8Array);
  await setSalts(all.subarray(0, (seq - 1) * SALT));
  expect(await checkSealedLedger(t.legate.platform)).toMatchObject({ firstBad: seq });
  expect((await proofOf(seq)).body.error.code).toBe('SEALED_ROW_DIFFERS');
  expect((await proofOf(seq - 1)).status).toBe(200);

  await setSalts(all);
  const { size } = await read.selectFrom('seal').select('size').executeTakeFirstOrThrow();
  await write
    .updateTable('seal')
    .set({ size: size + 2, signed_size: size + 2 })
    .execute();
  expect(await checkSealedLedger(t.legate.platform)).toMatchObject({ firstBad: size + 1 });
});

it('a check names a head that is before the newest sealed row', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const agent = await t.agent(await t.user());
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  await t.legate.ledger.proof(body.auditId);
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  const { seq } = (await t.legate.audit.query({})).entries[0] as { seq: number };
  await t.legate.platform.database.write
    .updateTable('head')
    .set({ seq: seq - 1 })
    .execute();
  expect((await checkSealedLedger(t.legate.platform)).problem).toContain(`its head is at row ${seq - 1}`);
});

it.each<[string, { type?: string; data?: string; parameters?: string }]>([
  // PostgreSQL does not store U+0000.
  ...(dialect === 'sqlite' ? [['no row can be sealed with', { parameters: 'a\0b' }] as [string, object]] : []),
  ['is not JSON in the entry of an erasure', { type: 'audit.erased', data: 'nonsense' }],
  ['is not an object in the entry of an erasure', { type: 'audit.erased', data: 'null' }],
])('a check, a proof and an export find a row with a value that %s', async (_, changed) => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const [admin, agent] = [await t.admin(), await t.agent(await t.user())];
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  const { seq } = (await t.call('GET', `/audit/${body.auditId}`, { as: admin })).body;
  await t.legate.ledger.proof(body.auditId);
  await t.legate.platform.database.write.updateTable('stream_events').set(changed).where('seq', '=', seq).execute();
  expect(await checkSealedLedger(t.legate.platform)).toMatchObject({ firstBad: seq });
  const proof = await t.call('GET', `/ledger/proof?seq=${seq}`, { as: admin });
  expect(proof.body.error?.code).toBe('SEALED_ROW_DIFFERS');
  const file = await t.call('GET', `/audit/export?format=sealed&fromSeq=1&toSeq=${seq}`, { as: admin });
  expect(JSON.parse(file.text.trim().split('\n').at(-2) as string)).toHaveProperty('hash');
});

const unreadable: [string, string][] = [
  ['not UTF-8', "cast(x'ff' as text)"],
  ['extended by U+0000', "parameters || cast(x'0078' as text)"],
];
// PostgreSQL stores neither.
it.each(dialect === 'sqlite' ? unreadable : [])(
  'a check and a proof name a row with a text that is %s',
  async (_, text) => {
    const t = await createTestService({ config: { ledger: { seal: 'on' } } });
    const [admin, agent] = [await t.admin(), await t.agent(await t.user())];
    const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x', arguments: { a: 1 } });
    const { seq } = (await t.call('GET', `/audit/${body.auditId}`, { as: admin })).body;
    await t.legate.ledger.proof(body.auditId);
    const { write } = t.legate.platform.database;
    const changed = write.updateTable('stream_events').set({ parameters: sql<string>`${sql.raw(text)}` });
    await changed.where('seq', '=', seq).execute();
    expect(await checkSealedLedger(t.legate.platform)).toMatchObject({ firstBad: seq });
    const proof = await t.call('GET', `/ledger/proof?seq=${seq}`, { as: admin });
    expect(proof.body.error?.code).toBe('SEALED_ROW_DIFFERS');
    expect((await t.call('GET', `/ledger/proof?seq=${seq - 1}`, { as: admin })).status).toBe(200);
  },
);

it.each([
  ['parameters', { parameters: 'nonsense' }],
  ['parameters that are no object', { parameters: 'null' }],
  ['a chain', { delegation_ids: 'nonsense' }],
  ['a decision', { decided: '{"clientId"' }],
  ['a chain of a decision', { decided: '{"p":"db:*","d":5}' }],
  ['a change', { change: '{"clientId"' }],
  ['the entry of an erasure', { type: 'audit.erased', data: 'nonsense' }],
])('other entries can be read, also after a start, next to one with unreadable JSON: %s', async (_, changed) => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const [admin, agent] = [await t.admin(), await t.agent(await t.user())];
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  const other = (await t.authorize(agent, { action: 'read', resource: 'db:y' })).body.auditId;
  const change = t.legate.platform.database.write.updateTable('stream_events').set(changed);
  await change.where('id', '=', body.auditId).execute();
  for (const service of [t, await createTestService({ config: { ledger: { seal: 'on' } }, sameDatabaseAs: t })])
    for (const path of ['/audit', '/audit?delegationId=dlg_x', '/events', '/changes', `/audit/${other}`, '/agents']) {
      const { status, text } = await service.call('GET', path, { as: admin });
      expect([path, status]).toEqual([path, 200]);
      if (path === '/audit' || path === '/events') expect(text).toContain(other.slice(4));
    }
});
