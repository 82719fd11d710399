import { type Caller, findAgent } from '../agents/index.ts';
import type { Change } from '../ledger/index.ts';
import { isId, newId } from '../lib/ids.ts';
import type { Platform } from '../platform.ts';
import type { CostRow } from '../storage/index.ts';
import { CostErrors } from './errors.ts';
import type { Cost, RecordCost } from './schema.ts';
import { toCost } from './store.ts';
import { add, budgetExceeded, usageAt } from './usage.ts';

/**
 * Attributes a cost to an agent, whatever its status: the bill may come after the end. Emits `cost.recorded`, and
 * `budget.exceeded` for each budget that it takes over its limit. 404 AGENT_NOT_FOUND; 422 AUDIT_ENTRY_UNKNOWN.
 */
export async function recordCost(platform: Platform, caller: Pick<Caller, 'confirm'>, input: RecordCost): Promise<Cost> {
  return platform.ledger.change(async (change) => {
    const { db, now } = change;
    const agent = await findAgent(db, await caller.confirm(db), input.agentId);
    const counted = input.auditId === undefined ? 0 : await tokensOfDecision(change, agent.id, input.auditId);
    const row: CostRow = {
      id: newId('cost', now),
      agent_id: agent.id,
      user_id: agent.owner_id,
      amount: input.amount,
      currency: input.currency,
      tokens: input.tokens ?? null,
      audit_id: input.auditId ?? null,
      metadata: JSON.stringify(input.metadata ?? {}),
      created_at: now,
    };
    await db.insertInto('costs').values(row).execute();
    change.emit({
      type: 'cost.recorded',
      agentId: agent.id,
      userId: agent.owner_id,
      data: {
        costId: row.id,
        agentId: agent.id,
        amount: row.amount,
        currency: row.currency,
        tokens: row.tokens,
        ...(row.audit_id === null ? {} : { auditId: row.audit_id }),
      },
    });
    await takeFromBudgets(change, row, counted);
    return toCost(row);
  });
}

/** Tokens that the decision itself has already counted. Throws 422 AUDIT_ENTRY_UNKNOWN. */
async function tokensOfDecision(change: Change, agentId: string, auditId: string): Promise<number> {
  const entry = isId('audit', auditId)
    ? await change.db.selectFrom('stream_events').select(['agent_id', 'result', 'tokens_cost']).where('id', '=', auditId).executeTakeFirst()
    : undefined;
  if (entry?.agent_id !== agentId) throw CostErrors.AUDIT_ENTRY_UNKNOWN({ details: { path: 'auditId' } });
  return entry.result === 'allowed' ? (entry.tokens_cost ?? 0) : 0;
}

async function takeFromBudgets(change: Change, cost: CostRow, countedTokens: number): Promise<void> {
  const { db, now } = change;
  const budgets = await db.selectFrom('budgets').selectAll().where('agent_id', '=', cost.agent_id).where('metric', 'in', ['cost', 'tokens']).execute();
  for (const budget of budgets) {
    const amount = budget.metric === 'tokens' ? Math.max(0, (cost.tokens ?? 0) - countedTokens) : budget.currency === cost.currency ? cost.amount : 0;
    if (amount === 0) continue;
    const usage = usageAt(budget, now);
    const used = add(usage.used, amount);
    const exceeded = used > budget.limit_value;
    if (exceeded && usage.exceeded === 0) change.emit(budgetExceeded(budget, used));
    await db
      .updateTable('budgets')
      .set({ used, window_start: usage.window_start, exceeded: exceeded ? 1 : usage.exceeded })
      .where('id', '=', budget.id)
      .execute();
  }
}
