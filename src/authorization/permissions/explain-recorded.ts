import type { Platform } from '../../platform.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { approvalOfStep, isApprovalStep } from './approval.ts';
import { CallFacts } from './call-facts.ts';
import { type DecisionState, decide } from './decide.ts';
import { explain, type Trace, type TracedEntry } from './explain.ts';
import { readChains } from './policy.ts';

export interface RecordedTrace {
  readonly trace: Trace;
  /** The agent, or an agent above it in its chains, changed after the decision. The trace shows the current policy. */
  readonly policyChanged: boolean;
  /** False if not all agents above could be read: chains through the others count as not held. */
  readonly complete: boolean;
}

/**
 * Explains a recorded decision: evaluates the question for the time of its record on the current policy, without
 * counting anything. Conditions see the recorded arguments, in which secrets are redacted. For a step of an approval,
 * explains the call that waited. Returns undefined if the agent has been deleted.
 */
export async function explainRecorded(
  platform: Platform,
  recorded: StreamEventRow,
): Promise<RecordedTrace | undefined> {
  const db = platform.database.read;
  const row = isApprovalStep(recorded.reason)
    ? { ...recorded, ...(await waitingCall(db, approvalOfStep(recorded.resource ?? ''))) }
    : recorded;
  const agentId = row.agent_id ?? '';
  const { agent, ids, lookup, complete } = await readChains(db, agentId);
  if (!agent) return undefined;
  const request = {
    action: row.action ?? '',
    resource: row.resource ?? '',
    now: row.timestamp,
    call: new CallFacts(
      row.ip,
      row.parameters === null ? undefined : (JSON.parse(row.parameters) as Record<string, unknown>),
    ),
  };
  const state: DecisionState = {
    // The result is all that is known of the counters at that time.
    used: () => (row.result === 'rate_limited' ? Number.MAX_SAFE_INTEGER : 0),
    agent: lookup,
    approved: () => row.result === 'allowed',
  };
  const { entries, ...trace } = explain(agent, request, state, decide(agent, request, state));
  const changedAgent = await db
    .selectFrom('agents')
    .select('id')
    .where('id', 'in', ids)
    .where('updated_at', '>', row.timestamp)
    .limit(1)
    .executeTakeFirst();
  const changedDelegation = await db
    .selectFrom('delegations')
    .select('id')
    .where('to_agent', 'in', ids)
    .where((eb) => eb.or([eb('created_at', '>', row.timestamp), eb('revoked_at', '>', row.timestamp)]))
    .limit(1)
    .executeTakeFirst();
  return {
    trace: { ...trace, entries: entries.map(withoutUse) },
    policyChanged: changedAgent !== undefined || changedDelegation !== undefined,
    complete,
  };
}

const waitingCall = (db: Db, approvalId: string) =>
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
