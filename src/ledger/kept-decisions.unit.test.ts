import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../kernel/clock.ts';
import { type IdempotencyKeyRow, migrate, openDatabase, type SqliteDatabase } from '../storage/index.ts';
import type { Maintain } from './entry.ts';
import { KeptDecisions } from './kept-decisions.ts';
import { readPosition } from './position.ts';

const dir = mkdtempSync(join(tmpdir(), 'legate-test-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let files = 0;
let db: SqliteDatabase;
beforeEach(async () => {
  db = (await openDatabase(`sqlite:${join(dir, `${++files}.db`)}`, { serviceName: 'legate' })) as SqliteDatabase;
  await migrate(db);
  return () => db.close();
});

const ENDS = DAY_MS + 1000;
const row = (n: number, expires_at = ENDS): IdempotencyKeyRow => ({
  // Rows 70 and 700 share a key.
  scope: `${n % 7} scope ${n}`.padEnd(32, 'x'),
  part: 0,
  fingerprint: 'f',
  kind: 'decision',
  answer: `{"n":${n}}`,
  created_at: expires_at - DAY_MS,
  expires_at,
});
const rows = (from: number, upto: number, expires_at?: number): IdempotencyKeyRow[] =>
  Array.from({ length: upto - from }, (_, i) => row(from + i, expires_at));

/** Appends rows in one transaction, as a batch of decisions does. */
function append(kept: KeptDecisions, added: readonly IdempotencyKeyRow[], end: 'commit' | 'rollback' = 'commit'): void {
  db.writer.exec('begin immediate');
  expect(
    kept.find(
      added.map(({ scope }) => scope),
      0,
      0,
    ),
  ).toEqual([]);
  kept.insert(added);
  db.writer.exec(end);
  if (end === 'commit') kept.committed();
  else kept.rolledBack();
}
const found = (kept: KeptDecisions, all: readonly IdempotencyKeyRow[], now = 0, losses = 0): unknown[] =>
  all.flatMap(({ scope }) => kept.find([scope], now, losses).map(({ answer }) => answer));
const answers = (all: readonly IdempotencyKeyRow[]): unknown[] => all.map(({ answer }) => answer);
const maintain: Maintain = (work) => db.upkeep.transaction().execute(work);
const counts = async () => ({
  rows: (await db.read.selectFrom('kept_decisions').selectAll().execute()).length,
  keys: (await db.read.selectFrom('kept_decision_keys').selectAll().execute()).length,
  indexed: await readPosition(db.read, 'kept_decisions'),
});

describe('kept decisions', () => {
  it('are found before they are indexed, while they are, afterwards, and after a start', async () => {
    const kept = new KeptDecisions(db, 300);
    const [first, second] = [rows(0, 299), rows(299, 700)];
    append(kept, first);
    await kept.upkeep(maintain, 0, 0);
    expect(await counts()).toEqual({ rows: 299, keys: 0, indexed: 0 });
    expect(found(new KeptDecisions(db), rows(0, 12))).toEqual(answers(rows(0, 12)));
    append(kept, second);
    const later = rows(700, 720);
    const some = [...rows(0, 12), ...rows(70, 71), ...rows(690, 700)];
    let slices = 0;
    await kept.upkeep(
      async (work) => {
        if (++slices === 3) append(kept, later);
        const result = await maintain(work);
        expect(found(kept, some)).toEqual(answers(some));
        return result;
      },
      0,
      0,
    );
    expect(slices).toBeGreaterThan(4);
    expect(await counts()).toEqual({ rows: 720, keys: 700, indexed: 700 });
    const all = [...some, ...later];
    expect(found(kept, all)).toEqual(answers(all));
    expect(found(new KeptDecisions(db), all)).toEqual(answers(all));
  });

  it('of another process are found, also after either of the two has indexed them', async () => {
    const [one, other] = [new KeptDecisions(db, 10), new KeptDecisions(db, 10)];
    append(one, rows(0, 5));
    append(other, rows(5, 10));
    append(one, rows(10, 15));
    const all = rows(0, 15);
    const third = new KeptDecisions(db, 10);
    for (const each of [one, other, third]) expect(found(each, all)).toEqual(answers(all));
    await Promise.all([one.upkeep(maintain, 0, 0), other.upkeep(maintain, 0, 0)]);
    expect(await counts()).toEqual({ rows: 15, keys: 15, indexed: 15 });
    // A process that has not indexed learns of it in its upkeep, while a batch is open.
    const next = rows(25, 30);
    db.writer.exec('begin immediate');
    expect(third.find(['none'], 0, 0)).toEqual([]);
    await third.upkeep(maintain, 0, 0);
    third.insert(next);
    db.writer.exec('commit');
    third.committed();
    expect([found(one, next), found(third, next)]).toEqual([answers(next), answers(next)]);
    append(other, rows(15, 20));
    append(one, rows(20, 25));
    const more = rows(0, 30);
    expect([found(one, more), found(other, more)]).toEqual([answers(more), answers(more)]);
  });

  it('are as in the table after a rollback and after the database has lost commits', () => {
    const kept = new KeptDecisions(db);
    append(kept, rows(0, 3));
    append(kept, rows(3, 6), 'rollback');
    expect(found(kept, rows(0, 6))).toEqual(answers(rows(0, 3)));
    append(kept, rows(6, 9));
    db.writer.exec('delete from legate_kept_decisions where id > 2');
    append(new KeptDecisions(db), rows(9, 12));
    expect(found(kept, rows(0, 12), 0, 1)).toEqual(answers([...rows(0, 2), ...rows(9, 12)]));
  });

  it('end at their time, are deleted by upkeep with their keys, and their ids are not used again', async () => {
    const kept = new KeptDecisions(db);
    append(kept, rows(0, 600));
    append(kept, rows(600, 610, ENDS + 1));
    expect(found(kept, rows(0, 610), ENDS)).toEqual(answers(rows(600, 610)));
    await kept.upkeep(maintain, ENDS - 1, 0);
    expect((await counts()).rows).toBe(610);
    await kept.upkeep(maintain, ENDS, 0);
    expect(await counts()).toEqual({ rows: 10, keys: 10, indexed: 610 });
    await kept.upkeep(maintain, ENDS + 1, 0);
    expect(await counts()).toEqual({ rows: 0, keys: 0, indexed: 610 });
    append(kept, rows(0, 1));
    append(new KeptDecisions(db), rows(1, 2));
    expect(await db.read.selectFrom('kept_decisions').select('id').execute()).toEqual([{ id: 611 }, { id: 612 }]);
  });
});
