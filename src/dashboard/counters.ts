import { sql } from 'kysely';
import type { Reach } from '../lib/access.ts';
import { HOUR_MS } from '../lib/clock.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';

/** Rows of the ledger folded in one statement: large enough that an agent's many rows become one, small enough not to be felt. */
const FOLD_ROWS = 50_000;
/** Rows that may wait to be folded before upkeep begins; queries count them directly. */
const TAIL_ROWS = 20_000;
/** Rows of a part of an hour that are counted one by one; beyond, the whole hour counts. */
const PARTIAL_ROWS = 50_000;
const PROJECTION = 'agent_hours';
/** Under this name the sum over all agents of a user is kept, and under it alone the sum over everybody. */
const SUM = '*';

export interface Calls {
  calls: number;
  denied: number;
}

const foldedUpto = async (db: Db): Promise<number> => (await db.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirst())?.upto ?? 0;
const headSeq = async (db: Db): Promise<number> => (await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq;

/** Adds decisions that are not counted yet to the running counters, until at most `keep` are left. Any instance may do it. */
export async function foldCounters(platform: Platform, keep = TAIL_ROWS): Promise<void> {
  for (;;) {
    const { read } = platform.database;
    if ((await headSeq(read)) - (await foldedUpto(read)) <= keep) return;
    await platform.ledger.maintain(async (db) => {
      if (platform.database.dialect === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${`${platform.database.prefix}agent_hours`}))`.execute(db);
      const after = await foldedUpto(db);
      const upto = Math.min(after + FOLD_ROWS, await headSeq(db));
      await fold(db, after, upto);
      await db
        .insertInto('projections')
        .values({ name: PROJECTION, upto })
        .onConflict((c) => c.column('name').doUpdateSet({ upto }))
        .execute();
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function fold(db: Db, after: number, upto: number): Promise<void> {
  const hour = sql<number>`timestamp / ${sql.lit(HOUR_MS)}`;
  const denied = sql<number>`sum(case when result <> 'allowed' then 1 else 0 end)`;
  const rows = db.selectFrom('stream_events').where('type', '=', 'audit').where('seq', '>', after).where('seq', '<=', upto);
  const groups = [
    rows.select(['agent_id', hour.as('hour'), sql<string>`max(user_id)`.as('user_id'), sql<number>`count(*)`.as('calls'), denied.as('denied')]).groupBy(['agent_id', hour]),
    rows
      .select([sql<string>`${sql.lit(SUM)} || user_id`.as('agent_id'), hour.as('hour'), 'user_id', sql<number>`count(*)`.as('calls'), denied.as('denied')])
      .groupBy(['user_id', hour]),
    rows
      .select([sql<string>`${sql.lit(SUM)}`.as('agent_id'), hour.as('hour'), sql<string>`${sql.lit(SUM)}`.as('user_id'), sql<number>`count(*)`.as('calls'), denied.as('denied')])
      .groupBy([hour]),
  ];
  for (const group of groups) {
    await db
      .insertInto('agent_hours')
      .columns(['agent_id', 'hour', 'user_id', 'calls', 'denied'])
      .expression(group as never)
      .onConflict((c) =>
        c
          .columns(['hour', 'agent_id'])
          .doUpdateSet((eb) => ({ calls: eb('agent_hours.calls', '+', eb.ref('excluded.calls')), denied: eb('agent_hours.denied', '+', eb.ref('excluded.denied')) })),
      )
      .execute();
  }
}

/** Name of the row that holds the sum of what a reach sees. */
const sumOf = (reach: Reach): string => (reach.kind === 'all' ? SUM : SUM + reach.userId);

/** Decisions of all time within reach. */
export async function countAll(platform: Platform, reach: Reach): Promise<number> {
  await foldCounters(platform);
  const db = platform.database.read;
  const upto = await foldedUpto(db);
  const folded = await db
    .selectFrom('agent_hours')
    .select((eb) => eb.fn.sum<number>('calls').as('calls'))
    .where('user_id', '=', reach.kind === 'all' ? SUM : reach.userId)
    .where('agent_id', '=', sumOf(reach))
    .executeTakeFirst();
  const tail = await countRows(db, reach, upto + 1, Number.MAX_SAFE_INTEGER);
  return Number(folded?.calls ?? 0) + [...tail.values()].reduce((sum, c) => sum + c.calls, 0);
}

/** Decisions since a moment (inclusive), by agent; `null`: of all time. Exact to the row, unless the oldest hour holds very many. */
export async function countByAgent(platform: Platform, reach: Reach, since: number | null): Promise<Map<string, Calls>> {
  await foldCounters(platform);
  const db = platform.database.read;
  const upto = await foldedUpto(db);
  const firstHour = since === null ? 0 : Math.ceil(since / HOUR_MS);
  const parts: Map<string, Calls>[] = [];
  let wholeFrom = firstHour;
  let tailFrom = upto + 1;
  if (since !== null) {
    const begin = await platform.reader.seqAt(since);
    const hourEnd = Math.min(await platform.reader.seqAt(firstHour * HOUR_MS), upto + 1);
    if (hourEnd - begin > PARTIAL_ROWS) wholeFrom = firstHour - 1;
    else if (hourEnd > begin) parts.push(await countRows(db, reach, begin, hourEnd));
    tailFrom = Math.max(tailFrom, begin);
  }
  let folded = db
    .selectFrom('agent_hours')
    .select((eb) => ['agent_id', eb.fn.sum<number>('calls').as('calls'), eb.fn.sum<number>('denied').as('denied')])
    .where('hour', '>=', wholeFrom)
    .where('agent_id', 'not like', `${SUM}%`)
    .groupBy('agent_id');
  if (reach.kind !== 'all') folded = folded.where('user_id', '=', reach.userId);
  parts.push(new Map((await folded.execute()).map((r) => [r.agent_id, { calls: Number(r.calls), denied: Number(r.denied) }])));
  parts.push(await countRows(db, reach, tailFrom, Number.MAX_SAFE_INTEGER));

  const total = new Map<string, Calls>();
  for (const part of parts) {
    for (const [agentId, { calls, denied }] of part) {
      const sum = total.get(agentId) ?? { calls: 0, denied: 0 };
      total.set(agentId, { calls: sum.calls + calls, denied: sum.denied + denied });
    }
  }
  return total;
}

/** Counted from the ledger itself: `from` inclusive, `before` exclusive. */
async function countRows(db: Db, reach: Reach, from: number, before: number): Promise<Map<string, Calls>> {
  let query = db
    .selectFrom('stream_events')
    .select(['agent_id', sql<number>`count(*)`.as('calls'), sql<number>`sum(case when result <> 'allowed' then 1 else 0 end)`.as('denied')])
    .where('type', '=', 'audit')
    .where('seq', '>=', from)
    .where('seq', '<', before)
    .groupBy('agent_id');
  if (reach.kind !== 'all') query = query.where('user_id', '=', reach.userId);
  return new Map((await query.execute()).map((r) => [r.agent_id ?? '', { calls: Number(r.calls), denied: Number(r.denied) }]));
}
