import type { Caller } from '../../access/caller.ts';
import { assertNotItself, getChangeableAgent } from '../../authorization/agents/index.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { changedFields, type NewEvent } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { BudgetRow, Db } from '../../storage/index.ts';
import { CostErrors } from './errors.ts';
import type { Budget, CreateBudget, UpdateBudget } from './schema.ts';
import { costsMatching, getBudget, toBudget, total } from './store.ts';
import { add, usageAt, windowStart } from './usage.ts';

const MAX_BUDGETS_PER_AGENT = 20;

/**
 * Creates a budget for an agent. Costs already recorded in the current window count; calls, and tokens stated with
 * decisions, count from now on. Throws 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED and 422 BUDGET_LIMIT_EXCEEDED.
 */
export async function createBudget(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  input: CreateBudget,
): Promise<Budget> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const agent = await getChangeableAgent(db, await caller.reauthorize(db), input.agentId);
    await assertRoomForBudget(db, agent.id);
    const start = windowStart(input.window, now);
    const currency = input.metric === 'cost' ? (input.currency ?? 'USD') : null;
    const used = await spentSince(db, { agent_id: agent.id, metric: input.metric, currency }, start);
    const row: BudgetRow = {
      id: newId('budget', now),
      agent_id: agent.id,
      user_id: agent.owner_id,
      metric: input.metric,
      currency,
      limit_value: input.limit,
      window_kind: input.window,
      on_exceed: input.onExceed,
      used,
      window_start: start,
      exceeded: 0,
      counted_from: now,
      created_at: now,
      updated_at: now,
      policy_epoch: change.epoch,
    };
    await db.insertInto('budgets').values(row).execute();
    change.invalidate();
    change.emit({ ...budgetEvent('budget.created', row), after: settingsOf(row) });
    return toBudget(row, now);
  });
}

/**
 * Each decision on the agent reads all its budgets under the ledger's lock, so their number is limited. The calling
 * change holds that lock.
 */
async function assertRoomForBudget(db: Db, agentId: Id<'agent'>): Promise<void> {
  const { n } = await db
    .selectFrom('budgets')
    .select((eb) => eb.fn.countAll().as('n'))
    .where('agent_id', '=', agentId)
    .executeTakeFirstOrThrow();
  if (Number(n) >= MAX_BUDGETS_PER_AGENT)
    throw CostErrors.BUDGET_LIMIT_EXCEEDED({ details: { limit: MAX_BUDGETS_PER_AGENT } });
}

/**
 * Returns what the costs recorded since then use of such a budget. Calls, and tokens stated only with decisions, are
 * not recorded and count as zero.
 */
async function spentSince(
  db: Db,
  { agent_id, metric, currency }: Pick<BudgetRow, 'agent_id' | 'metric' | 'currency'>,
  since: number,
): Promise<number> {
  if (metric === 'calls') return 0;
  const costs = costsMatching(db, { kind: 'all' }, { agentId: [agent_id], since });
  const { spent } = await (currency === null ? costs : costs.where('currency', '=', currency))
    .select(total(metric === 'tokens' ? 'tokens' : 'amount').as('spent'))
    .executeTakeFirstOrThrow();
  return add(spent ?? 0, 0);
}

/**
 * Changes a budget. A new window starts like that of a new budget. A new limit can be exceeded, and reported, once
 * more. If no value differs, it emits no event and keeps `updatedAt`. Throws 403 FORBIDDEN for a budget of the calling
 * agent, and 404 BUDGET_NOT_FOUND.
 */
export async function updateBudget(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  id: Id<'budget'>,
  input: UpdateBudget,
): Promise<Budget> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const row = await getBudget(db, await caller.reauthorize(db), id);
    assertNotItself(caller.principal, row.agent_id);
    caller.assertUnchanged?.(toBudget(row, now));
    const limit = input.limit ?? row.limit_value;
    const window = input.window ?? row.window_kind;
    const onExceed = input.onExceed ?? row.on_exceed;
    if (limit === row.limit_value && window === row.window_kind && onExceed === row.on_exceed)
      return toBudget(row, now);
    const usage = usageAt(row, now);
    const start = windowStart(window, now);
    const begun =
      window === row.window_kind
        ? usage
        : { used: await spentSince(db, row, start), window_start: start, exceeded: 0, counted_from: now };
    const changed = {
      ...row,
      ...begun,
      exceeded: limit === row.limit_value ? begun.exceeded : 0,
      limit_value: limit,
      window_kind: window,
      on_exceed: onExceed,
      updated_at: now,
      policy_epoch: change.epoch,
    };
    const { id: _, ...set } = changed;
    await db.updateTable('budgets').set(set).where('id', '=', id).execute();
    change.invalidate();
    change.emit({ ...budgetEvent('budget.updated', row), ...changedFields(settingsOf(row), settingsOf(changed)) });
    return toBudget(changed, now);
  });
}

/** Throws 403 FORBIDDEN for a budget of the calling agent, and 404 BUDGET_NOT_FOUND. */
export async function deleteBudget(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  id: Id<'budget'>,
): Promise<void> {
  return ledger.change(caller.actor, async (change) => {
    const row = await getBudget(change.db, await caller.reauthorize(change.db), id);
    assertNotItself(caller.principal, row.agent_id);
    caller.assertUnchanged?.(toBudget(row, change.now));
    await change.db.deleteFrom('budgets').where('id', '=', row.id).execute();
    change.invalidate();
    change.emit({ ...budgetEvent('budget.deleted', row), before: settingsOf(row) });
  });
}

/** The budget as it was set, without its usage. */
const settingsOf = (row: BudgetRow) => ({
  metric: row.metric,
  currency: row.currency,
  limit: row.limit_value,
  window: row.window_kind,
  onExceed: row.on_exceed,
});

const budgetEvent = (type: 'budget.created' | 'budget.updated' | 'budget.deleted', row: BudgetRow): NewEvent => ({
  type,
  agentId: row.agent_id,
  userId: row.user_id,
  data: { budgetId: row.id, agentId: row.agent_id },
});
