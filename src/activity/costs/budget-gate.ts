import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { BatchContext, Lacking } from '../../ledger/index.ts';
import type { Gate, GatedCall, GateResult } from '../../platform.ts';
import type { BudgetRow, Db } from '../../storage/index.ts';
import { add, budgetExceeded, type Usage, usageAt, windowEnd } from './usage.ts';

/** A budget within a batch. Its usage is written once, after all calls of the batch. */
interface Account {
  readonly row: BudgetRow;
  readonly usage: { -readonly [K in keyof Usage]: Usage[K] };
  dirty: boolean;
}

/**
 * Applies budgets to decisions (contract 14): the calls and tokens of allowed decisions count under the ledger's lock,
 * and a budget with `deny` refuses what would exceed it. A used-up budget of tokens or cost refuses every call;
 * otherwise a call is refused only if its stated `tokensCost` does not fit.
 */
export class BudgetGate implements Gate {
  /** Agents that have or had a budget, as of the epoch. */
  readonly #agents = new Set<string>();
  #epoch = -1;
  #losses = 0;

  prepare(context: BatchContext, agentId: Id<'agent'>): void {
    if (this.#agents.has(agentId)) batchOf(context).wanted.add(agentId);
  }

  check(context: BatchContext, call: GatedCall): GateResult | Lacking | undefined {
    if (this.#epoch !== context.epoch) return { lacks: [{ load: (db) => this.#loadAgents(db, context) }] };
    if (!this.#agents.has(call.agentId)) return undefined;
    const batch = batchOf(context);
    const known = batch.accounts.get(call.agentId);
    if (!known) {
      batch.wanted.add(call.agentId);
      return { lacks: [{ load: (db) => readAccounts(db, batch, context.now) }] };
    }
    const accounts = call.at === context.now ? known : known.map((account) => accountAt(account, call.at));
    for (const account of accounts)
      if (account.row.on_exceed === 'deny' && !fits(account, call)) return refuse(account, call.at);
    const charged = accounts.filter((a) => amountOf(a.row, call) > 0);
    if (charged.length === 0) return undefined;
    const exceeded = charged.filter(
      (a) => a.usage.exceeded === 0 && add(a.usage.used, amountOf(a.row, call)) > a.row.limit_value,
    );
    return {
      commit: () => {
        for (const account of charged) {
          account.usage.used = add(account.usage.used, amountOf(account.row, call));
          account.dirty = true;
        }
        for (const account of exceeded) account.usage.exceeded = 1;
      },
      write: (db) => save(db, charged),
      events: exceeded.map((a) => budgetExceeded(a.row, add(a.usage.used, amountOf(a.row, call)))),
    };
  }

  async #loadAgents(db: Db, { epoch, losses }: BatchContext): Promise<void> {
    // The epoch belongs to commits that the database has lost.
    if (losses !== this.#losses) this.#epoch = -1;
    this.#losses = losses;
    const rows = await db
      .selectFrom('budgets')
      .select('agent_id')
      .distinct()
      .where('policy_epoch', '>', this.#epoch)
      .execute();
    for (const { agent_id } of rows) this.#agents.add(agent_id);
    this.#epoch = epoch;
  }
}

/** The budgets of a batch. Those of all its agents are read together. */
interface BatchBudgets {
  readonly wanted: Set<Id<'agent'>>;
  readonly accounts: Map<string, readonly Account[]>;
}
const SHARED_KEY = 'budgets';
/** Agents whose budgets are read in one query. */
const AGENTS_AT_ONCE = 200;

function batchOf({ shared }: BatchContext): BatchBudgets {
  let batch = shared.get(SHARED_KEY) as BatchBudgets | undefined;
  if (!batch) {
    batch = { wanted: new Set(), accounts: new Map() };
    shared.set(SHARED_KEY, batch);
  }
  return batch;
}

async function readAccounts(db: Db, { wanted, accounts }: BatchBudgets, now: number): Promise<void> {
  for (const agentIds of chunk([...wanted], AGENTS_AT_ONCE)) {
    const rows = await db.selectFrom('budgets').selectAll().where('agent_id', 'in', agentIds).orderBy('id').execute();
    const byAgent = new Map<string, Account[]>(agentIds.map((id) => [id, []]));
    for (const row of rows) byAgent.get(row.agent_id)?.push({ row, usage: { ...usageAt(row, now) }, dirty: false });
    for (const [id, budgets] of byAgent) if (!accounts.has(id)) accounts.set(id, budgets);
  }
  wanted.clear();
}

/** The budget as a dry run for another time finds it. Only usage of the current window is known. */
const accountAt = ({ row, usage, dirty }: Account, at: number): Account => ({
  row,
  usage: { ...usageAt({ ...row, ...usage }, at) },
  dirty,
});

function amountOf(row: BudgetRow, call: GatedCall): number {
  switch (row.metric) {
    case 'calls':
      return 1;
    case 'tokens':
      return call.tokensCost ?? 0;
    case 'cost':
      // The cost of a call is known only when it is recorded with POST /costs.
      return 0;
  }
}

function fits({ row, usage }: Account, call: GatedCall): boolean {
  const amount = amountOf(row, call);
  return amount > 0 ? add(usage.used, amount) <= row.limit_value : usage.used < row.limit_value;
}

function refuse(account: Account, at: number): GateResult {
  const { row, usage } = account;
  const refusal = { reason: 'BUDGET_EXCEEDED', by: row.id, resetAt: windowEnd(row.window_kind, at) } as const;
  if (usage.exceeded === 1) return { refusal };
  return {
    refusal,
    commit: () => {
      usage.exceeded = 1;
      account.dirty = true;
    },
    write: (db) => save(db, [account]),
    events: [budgetExceeded(row, usage.used)],
  };
}

async function save(db: Db, accounts: readonly Account[]): Promise<void> {
  for (const account of accounts) {
    if (!account.dirty) continue;
    account.dirty = false;
    await db.updateTable('budgets').set(account.usage).where('id', '=', account.row.id).execute();
  }
}
