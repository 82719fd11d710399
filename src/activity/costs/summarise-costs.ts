import type { Visibility } from '../../access/principal.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { firstIdFrom, type Id } from '../../kernel/ids.ts';
import { yieldOnce } from '../../kernel/yield-once.ts';
import type { Platform } from '../../platform.ts';
import type { Database, Db } from '../../storage/index.ts';
import type { CostFilter, CostSummary } from './schema.ts';
import { type CostSelection, costsMatching, partsOf, total } from './store.ts';
import { add } from './usage.ts';

const MAX_AGENTS = 100;

type Sum = { count: number; tokens: number; totals: { currency: string; amount: number }[] };
const emptySum = (): Sum => ({ count: 0, tokens: 0, totals: [] });

interface Row {
  readonly agent_id: Id<'agent'>;
  readonly currency: string;
  readonly count: number;
  readonly tokens: number | null;
  readonly amount: number | null;
  readonly last: Id<'cost'>;
}

/** Sums by agent and currency. */
const sumsOf = (db: Db, costs: ReturnType<typeof costsMatching>): Promise<Row[]> =>
  db
    .selectFrom(costs.select(['id', 'agent_id', 'currency', 'tokens', 'amount']).as('matching'))
    .groupBy(['agent_id', 'currency'])
    .select((eb) => [
      'agent_id',
      'currency',
      eb.fn.countAll<number>().as('count'),
      total('tokens').as('tokens'),
      total('amount').as('amount'),
      eb.fn.max<Id<'cost'>>('id').as('last'),
    ])
    .execute();

/** Costs summed in one query. On SQLite, decisions wait for it. */
const SLICE = 5000;

async function* sums({ read, dialect }: Database, { visibility, filter }: CostSelection): AsyncGenerator<Row[]> {
  if (dialect === 'postgres') return yield await sumsOf(read, costsMatching(read, visibility, filter));
  for (let after = firstIdFrom('cost', 0); ; ) {
    const rows = await sumsOf(
      read,
      costsMatching(read, visibility, filter).where('id', '>', after).orderBy('id').limit(SLICE),
    );
    yield rows;
    if (rows.reduce((n, r) => n + Number(r.count), 0) < SLICE) return;
    after = rows.reduce((last, r) => (r.last > last ? r.last : last), after);
    await yieldOnce();
  }
}

/** Sums the matching costs, in total and per agent. Amounts of different currencies are never added. */
export async function summariseCosts(
  { database }: Pick<Platform, 'database'>,
  visibility: Visibility,
  filter: CostFilter,
): Promise<CostSummary> {
  const db = database.read;
  const all = emptySum();
  const byAgent = new Map<Id<'agent'>, Sum>();
  for (const part of partsOf(await restrictTo(db, visibility, filter), filter))
    for await (const rows of sums(database, part))
      for (const row of rows) {
        const one = byAgent.get(row.agent_id) ?? emptySum();
        byAgent.set(row.agent_id, one);
        for (const sum of [all, one]) addTo(sum, row);
      }
  for (const sum of [all, ...byAgent.values()]) sum.totals.sort((a, b) => (a.currency < b.currency ? -1 : 1));
  const shown = [...byAgent].sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1)).slice(0, MAX_AGENTS);
  const ids = shown.map(([id]) => id);
  const named =
    ids.length === 0 ? [] : await db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids).execute();
  const names = new Map(named.map(({ id, name }) => [id, name]));
  return { ...all, agents: shown.map(([agentId, sum]) => ({ agentId, name: names.get(agentId) ?? '', ...sum })) };
}

function addTo(sum: Sum, { count, tokens, amount, currency }: Row): void {
  sum.count += Number(count);
  sum.tokens += tokens ?? 0;
  const known = sum.totals.find((t) => t.currency === currency);
  if (known) known.amount = add(known.amount, amount ?? 0);
  else sum.totals.push({ currency, amount: add(amount ?? 0, 0) });
}
