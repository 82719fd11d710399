import { asId, type Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { approvalOfStep, isApprovalStep } from './approval.ts';
import type { CompiledAgent } from './compile.ts';
import { type Decision, type DecisionState, decide } from './decide.ts';
import { explain, type Trace, type TracedEntry } from './explain.ts';
import { readChains } from './policy.ts';
import { nextChangeOf, type PolicyAt, readPolicyAt } from './policy-at.ts';
import type { Reason } from './reasons.ts';
import { decideAgain, requestOf, resultOf } from './recorded-call.ts';

export interface RecordedTrace {
  readonly trace: Trace;
  /** The result of the evaluation that the trace shows. */
  readonly evaluated: { readonly result: 'allowed' | 'denied' | 'rate_limited'; readonly reason: Reason | null };
  /**
   * Sequence of the entry: the trace shows agents, delegations, approvals and counters as the decision found them.
   * null: the entry is older than their versions, so the trace shows the current policy.
   */
  readonly asOf: number | null;
  /** The agent, or an agent above it in its chains, changed after the decision. */
  readonly policyChanged: boolean;
  /** False if not all agents above could be read: chains through the others count as not held. */
  readonly complete: boolean;
}

/**
 * Explains a recorded decision: evaluates it again under the same conditions, without counting it. For a step of an
 * approval, explains the call that waited. Returns undefined if the agent has been deleted.
 */
export async function explainRecorded(
  { database }: Pick<Platform, 'database'>,
  recorded: StreamEventRow,
): Promise<RecordedTrace | undefined> {
  const db = database.read;
  const row = isApprovalStep(recorded.reason)
    ? { ...recorded, ...(await waitingCall(db, approvalOfStep(recorded.resource ?? ''))) }
    : recorded;
  const agentId = row.agent_id ?? asId('agent', '');
  const policy = await readPolicyAt(db, agentId, row.seq);
  return policy?.isRecorded ? explainAsOf(db, policy, row) : explainOnCurrent(db, row);
}

async function explainAsOf(
  db: Db,
  { agents, subjects, complete }: PolicyAt,
  row: StreamEventRow,
): Promise<RecordedTrace> {
  const agent = agents.get(row.agent_id ?? asId('agent', '')) as CompiledAgent;
  const { decision, request, state } = decideAgain(agents, agent, row);
  const refusedBy = decision.allowed ? undefined : decision.by;
  return {
    trace: { ...explain(agent, request, state, decision), ...(refusedBy === undefined ? {} : { refusedBy }) },
    evaluated: evaluatedOf(decision),
    asOf: row.seq,
    policyChanged: (await nextChangeOf(db, subjects, row.seq)) !== undefined,
    complete,
  };
}

async function explainOnCurrent(db: Db, row: StreamEventRow): Promise<RecordedTrace | undefined> {
  const { agent, ids, lookup, complete } = await readChains(db, row.agent_id ?? asId('agent', ''));
  if (!agent) return undefined;
  const request = requestOf(row, {});
  const state: DecisionState = {
    // Only the result is known of the counters at that time.
    used: () => (row.result === 'rate_limited' ? Number.MAX_SAFE_INTEGER : 0),
    agent: lookup,
    approved: () => row.result === 'allowed',
  };
  const decision = decide(agent, request, state);
  const { entries, ...trace } = explain(agent, request, state, decision);
  return {
    trace: { ...trace, entries: entries.map(withoutUse) },
    evaluated: evaluatedOf(decision),
    asOf: null,
    policyChanged: await changedSince(db, ids, row.timestamp),
    complete,
  };
}

const evaluatedOf = (decision: Decision): RecordedTrace['evaluated'] => ({
  result: resultOf(decision),
  reason: decision.allowed ? null : decision.reason,
});

async function changedSince(db: Db, agentIds: readonly Id<'agent'>[], timestamp: number): Promise<boolean> {
  const agent = await db
    .selectFrom('agents')
    .select('id')
    .where('id', 'in', agentIds)
    .where('updated_at', '>', timestamp)
    .limit(1)
    .executeTakeFirst();
  if (agent) return true;
  const delegation = await db
    .selectFrom('delegations')
    .select('id')
    .where('to_agent', 'in', agentIds)
    .where((eb) => eb.or([eb('created_at', '>', timestamp), eb('revoked_at', '>', timestamp)]))
    .limit(1)
    .executeTakeFirst();
  return delegation !== undefined;
}

const waitingCall = (db: Db, approvalId: Id<'approval'>) =>
  db
    .selectFrom('approvals')
    .select(['action', 'resource', 'arguments as parameters'])
    .where('id', '=', approvalId)
    .executeTakeFirstOrThrow();

/** Removes `used`, since the counters at that time are not known. */
function withoutUse({ used: _, ...entry }: TracedEntry): TracedEntry {
  const { source } = entry;
  return source.type === 'own' || !source.entries
    ? entry
    : { ...entry, source: { ...source, entries: source.entries.map(withoutUse) } };
}
