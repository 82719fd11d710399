import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import type { Commit } from '../../ledger/index.ts';
import { decisionTexts, eventTexts, rowTexts } from './entry-text.ts';
import { checkSealedLedger } from './index.ts';
import { readSealedRows } from './store.ts';

const permissions = [{ resource: '*', actions: ['*'] }];
const SALT = 'a1'.repeat(16);
/** Any text that JSON can contain: every script and every character that databases or JSON escape, except U+0000. */
const text = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom('"', '\\', "'", '\n', 'ß', '😀', '\u2028', '%', '\u0001'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 12,
  })
  .map((value) => value.replaceAll('\0', ''));
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const value = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.oneof(text, number), { maxLength: 3 }),
);
const request = fc.record({
  action: fc.constantFrom('read', 'write', 'delete'),
  resource: fc.constantFrom('db:x', 'mcp:a:b', 'db:ünï'),
  arguments: fc.dictionary(
    text.filter((name) => name !== '' && name !== '__proto__'),
    value,
    { maxKeys: 4 },
  ),
});

it('any entry has the same texts in memory and in the database', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const { platform } = t.legate;
  const agent = await t.agent(await t.user(), { permissions });
  const commits: Commit[] = [];
  platform.ledger.onCommit((commit) => void commits.push(commit));
  await fc.assert(
    fc.asyncProperty(request, text, text, async (body, name, userAgent) => {
      const r = await t.call('POST', '/authorize', {
        as: agent,
        body,
        ip: '2001:db8::1',
        headers: { 'user-agent': encodeURIComponent(userAgent) },
      });
      expect(r.status, r.text).toBe(200);
      // These events contain names of people and agents.
      await t.call('PATCH', `/agents/${agent.id}`, { as: await t.admin(), body: { name: `n${name}`.slice(0, 40) } });
    }),
    { numRuns: 60 },
  );
  const fromMemory = new Map<number, object>();
  for (const { firstSeq, timestamp, records, events } of commits) {
    let seq = firstSeq;
    for (const record of records) fromMemory.set(seq, decisionTexts(seq++, timestamp, SALT, record));
    for (const { id, type, agentId = null, userId = null, data } of events)
      fromMemory.set(
        seq,
        eventTexts(seq++, timestamp, SALT, { id, type, agentId, userId, data: JSON.stringify(data) }),
      );
  }
  const { database } = platform;
  const seqs = [...fromMemory.keys()];
  expect(seqs.length).toBeGreaterThan(100);
  const from = Math.min(...seqs);
  const rows = await readSealedRows(database, database.read, from, Math.max(...seqs));
  expect(rows.map(({ seq }) => seq)).toEqual(seqs.sort((a, b) => a - b));
  for (const row of rows) expect(rowTexts(row, SALT)).toEqual(fromMemory.get(row.seq));
  // Reads inside a transaction use another path.
  await platform.ledger.maintain(async (db) => {
    expect(await readSealedRows(database, db, from, Math.max(...seqs))).toEqual(rows);
  });
  await t.legate.ledger.proof(seqs.at(-1) as number);
  expect(await checkSealedLedger(platform)).toEqual({ size: expect.any(Number) });
});
