import type { QueryExecutor } from 'kysely';
import { afterEach, expect, it, vi } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { SLICE_BYTES } from '../../ledger/index.ts';
import { forgetOldEvents } from '../stream/retention.ts';
import { checkSealedLedger, pruneLedger } from './index.ts';

/** For each query with several large rows, the total size of their large texts in bytes. */
const results: number[] = [];
/** For each statement, the number of ledger rows that it deleted. */
const deleted: number[] = [];

const noteRows = (rows: readonly object[]): void => {
  if (rows.length < 2) return;
  const texts = rows.flatMap((row) => Object.values(row)).filter((value) => typeof value === 'string');
  const large = texts.filter((text) => text.length > 1000).map((text) => Buffer.byteLength(text));
  if (large.length > 0) results.push(large.reduce((sum, bytes) => sum + bytes));
};

/** Observes the queries of a service, including those in transactions. */
function watch({ legate }: TestService): void {
  const { database } = legate.platform;
  const executor: QueryExecutor = Object.getPrototypeOf(Object.getPrototypeOf(database.read.getExecutor()));
  const { executeQuery } = executor;
  vi.spyOn(executor, 'executeQuery').mockImplementation(async function (this: QueryExecutor, ...args) {
    const result = await executeQuery.apply(this, args);
    noteRows(result.rows as object[]);
    if (/^delete from "\w*stream_events"/.test(args[0].sql)) deleted.push(Number(result.numAffectedRows));
    return result;
  });
  if (database.dialect === 'sqlite') {
    const prepare = database.reader.prepare.bind(database.reader);
    vi.spyOn(database.reader, 'prepare').mockImplementation((sql) => {
      const statement = prepare(sql);
      const raw: typeof statement.raw = (parameters) => {
        const rows = statement.raw(parameters);
        noteRows(rows);
        return rows;
      };
      return { ...statement, raw };
    });
  } else {
    const query = database.pool.query.bind(database.pool);
    vi.spyOn(database.pool, 'query').mockImplementation(async (...args: Parameters<typeof query>) => {
      const result = await query<object>(...args);
      noteRows(result.rows);
      return result as never;
    });
  }
}

const LARGE = 60_000;
const COUNT = 45;
const SEALED = { ledger: { seal: 'on' } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];

let owner: TestUser;
let agent: TestAgent;

/** Makes {@link COUNT} decisions with large arguments, and returns the id of the last entry. */
async function decide(t: TestService): Promise<string> {
  owner = await t.user();
  agent = await t.agent(owner, { permissions });
  const one = { agentId: agent.id, action: 'read', resource: 'db:x', arguments: { text: 'x'.repeat(LARGE) } };
  let last = '';
  for (let left = COUNT; left > 0; left -= 15) {
    const r = await t.call('POST', '/authorize/batch', { as: owner, body: { requests: Array(15).fill(one) } });
    expect(r.status, r.text).toBe(200);
    last = r.body.results.at(-1).auditId;
  }
  return last;
}

/** Discards the sizes that were recorded before. */
const begin = (): void => void results.splice(0);

function expectLimited(): void {
  const read = results.splice(0);
  expect(Math.max(...read)).toBeLessThanOrEqual(SLICE_BYTES);
  // The slices must not be as small as single rows either.
  expect(read.filter((bytes) => bytes > 2 * LARGE).length).toBeGreaterThanOrEqual((COUNT * LARGE) / SLICE_BYTES / 2);
}

afterEach(() => void vi.restoreAllMocks());

it('rows that the sealer has missed are read in slices of limited size', async () => {
  const t = await createTestService();
  const auditId = await decide(t);
  const sealed = await createTestService({ sameDatabaseAs: t, config: SEALED });
  watch(sealed);
  begin();
  expect((await sealed.legate.ledger.keys()).keys).toHaveLength(1);
  await sealed.legate.ledger.proof(auditId);
  expectLimited();
});

it('legate ledger check and retention read slices of limited size', async () => {
  const t = await createTestService({
    config: { ...SEALED, audit: { retentionDays: 90 }, events: { retentionDays: 30 } },
  });
  await decide(t);
  await decide(t);
  await t.legate.ledger.export();
  watch(t);
  begin();
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  expectLimited();

  t.clock.advance(31 * DAY_MS);
  await forgetOldEvents(t.legate.platform);
  expectLimited();

  t.clock.advance(61 * DAY_MS);
  await decide(t);
  await t.legate.ledger.export();
  begin();
  deleted.splice(0);
  await pruneLedger(t.legate.platform);
  // The decisions of the beginning are deleted in several transactions, each with at most 4 MiB of arguments.
  expect(deleted.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThanOrEqual(2 * COUNT);
  expect(Math.max(...deleted) * LARGE).toBeLessThanOrEqual(4_194_304 + 5 * LARGE);
  const left = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select('seq')
    .where('type', '=', 'audit')
    .execute();
  expect(left).toHaveLength(COUNT);
  expectLimited();
});

it('an erasure changes a limited number of bytes per transaction, and records each part', async () => {
  const t = await createTestService({ config: SEALED });
  const admin = await t.admin();
  await decide(t);
  await t.legate.ledger.export();
  watch(t);
  begin();
  const { status, body } = await t.call('POST', '/audit/erasures', { as: admin, body: { agentId: agent.id } });
  expect([status, body.erased]).toEqual([200, COUNT]);
  const each = Math.floor(SLICE_BYTES / (LARGE + 20));
  expectLimited();
  expect(body.recordedAs).toHaveLength(Math.ceil(COUNT / each));
  expect((await t.call('POST', '/audit/erasures', { as: admin, body: { agentId: agent.id } })).body.erased).toBe(0);
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
});
