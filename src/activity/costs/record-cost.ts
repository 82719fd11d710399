import type { Changer } from '../../access/caller.ts';
import { getAgentRow } from '../../authorization/agents/index.ts';
import { type Id, isId, newId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { BudgetRow, CostRow } from '../../storage/index.ts';
import { CostErrors } from './errors.ts';
import type { Cost, RecordCost } from './schema.ts';
import { toCost, total } from './store.ts';
import { add, budgetExceeded, usageAt } from './usage.ts';

/**
 * Attributes a cost to an agent of any status, since a bill may arrive after the agent has ended. Emits
 * `cost.recorded`, and `budget.exceeded` for each budget that the cost takes over its limit. Throws 404 AGENT_NOT_FOUND
 * and 422 AUDIT_ENTRY_UNKNOWN.
 */
export async function recordCost(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  input: RecordCost,
): Promise<Cost> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const agent = await getAgentRow(db, await caller.reauthorize(db), input.agentId);
    const decision = input.auditId === undefined ? undefined : await getDecision(change, agent.id, input.auditId);
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
    await chargeBudgets(change, row, decision);
    return toCost(row);
  });
}

/** A decision that caused costs, with the tokens that it counted itself and those that earlier costs stated for it. */
interface Decision {
  readonly at: number;
  readonly counted: number;
  readonly stated: number;
}

/** Throws 422 AUDIT_ENTRY_UNKNOWN. */
async function getDecision({ db }: Change, agentId: Id<'agent'>, auditId: Id<'audit'>): Promise<Decision> {
  const entry = isId('audit', auditId)
    ? await db
        .selectFrom('stream_events')
        .select(['agent_id', 'result', 'tokens_cost', 'timestamp'])
        .where('id', '=', auditId)
        .executeTakeFirst()
    : undefined;
  if (entry?.agent_id !== agentId) throw CostErrors.AUDIT_ENTRY_UNKNOWN({ details: { path: 'auditId' } });
  const { stated } = await db
    .selectFrom('costs')
    .select(total('tokens').as('stated'))
    .where('audit_id', '=', auditId)
    .executeTakeFirstOrThrow();
  return {
    at: entry.timestamp,
    counted: entry.result === 'allowed' ? (entry.tokens_cost ?? 0) : 0,
    stated: stated ?? 0,
  };
}

/**
 * Returns the tokens that exceed what the decision already counted in this budget. A budget that was created, or got
 * another window, after the decision has counted none of them.
 */
function tokensFor(budget: BudgetRow, tokens: number, decision: Decision | undefined): number {
  if (!decision || decision.at < (budget.counted_from ?? budget.created_at)) return tokens;
  const beyond = (stated: number): number => Math.max(0, stated - decision.counted);
  return beyond(decision.stated + tokens) - beyond(decision.stated);
}

async function chargeBudgets(change: Change, cost: CostRow, decision: Decision | undefined): Promise<void> {
  const { db, now } = change;
  const budgets = await db
    .selectFrom('budgets')
    .selectAll()
    .where('agent_id', '=', cost.agent_id)
    .where('metric', 'in', ['cost', 'tokens'])
    .execute();
  for (const budget of budgets) {
    const amount =
      budget.metric === 'tokens'
        ? tokensFor(budget, cost.tokens ?? 0, decision)
        : budget.currency === cost.currency
          ? cost.amount
          : 0;
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
