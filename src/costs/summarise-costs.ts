import type { Reach } from '../lib/access.ts';
import type { Platform } from '../platform.ts';
import type { CostFilter, CostSummary } from './schema.ts';
import { costsThat } from './store.ts';
import { add } from './usage.ts';

const MAX_AGENTS = 100;

type Sum = { count: number; tokens: number; totals: { currency: string; amount: number }[] };
const nothing = (): Sum => ({ count: 0, tokens: 0, totals: [] });

/** What was spent in the time asked about, altogether and by agent; amounts of different currencies are never added. */
export async function summariseCosts(platform: Platform, reach: Reach, filter: CostFilter): Promise<CostSummary> {
  const db = platform.database.read;
  const sums = await costsThat(db, reach, filter)
    .groupBy(['agent_id', 'currency'])
    .select((eb) => ['agent_id', 'currency', eb.fn.countAll<number>().as('count'), eb.fn.sum<number | null>('tokens').as('tokens'), eb.fn.sum<number>('amount').as('amount')])
    .orderBy('currency')
    .execute();
  const all = nothing();
  const byAgent = new Map<string, Sum>();
  for (const { agent_id, currency, ...row } of sums) {
    const one = byAgent.get(agent_id) ?? nothing();
    byAgent.set(agent_id, one);
    for (const sum of [all, one]) {
      sum.count += Number(row.count);
      sum.tokens += Number(row.tokens ?? 0);
      const total = sum.totals.find((t) => t.currency === currency);
      if (total) total.amount = add(total.amount, row.amount);
      else sum.totals.push({ currency, amount: add(row.amount, 0) });
    }
  }
  const shown = [...byAgent].sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1)).slice(0, MAX_AGENTS);
  const ids = shown.map(([id]) => id);
  const named = ids.length === 0 ? [] : await db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids).execute();
  const names = new Map(named.map(({ id, name }) => [id, name]));
  return { ...all, agents: shown.map(([agentId, sum]) => ({ agentId, name: names.get(agentId) ?? '', ...sum })) };
}
