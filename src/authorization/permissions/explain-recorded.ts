import type { Platform } from '../../platform.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { approvalOfStep, isApprovalStep } from './approval.ts';
import { CallFacts } from './call-facts.ts';
import { decide, type World } from './decide.ts';
import { explain, type Trace, type TracedEntry } from './explain.ts';
import { readChains } from './policy.ts';

export interface RecordedTrace {
  readonly trace: Trace;
  /** The agent, or one above it in its chains, was changed after the decision: the trace shows the policy as it is now. */
  readonly policyChanged: boolean;
}

/**
 * Why a recorded decision came out as it did: the question is asked again for the moment of its record, of the policy as it
 * is now, without counting anything. Conditions see the recorded arguments, in which secrets are redacted. The entry of a step of an
 * approval is explained by the call that waited. undefined: the agent is gone.
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
  const agents = await readChains(db, agentId);
  const agent = agents.get(agentId);
  if (!agent) return undefined;
  const ask = {
    action: row.action ?? '',
    resource: row.resource ?? '',
    now: row.timestamp,
    call: new CallFacts(
      row.ip,
      row.parameters === null ? undefined : (JSON.parse(row.parameters) as Record<string, unknown>),
    ),
  };
  const world: World = {
    // What the counters stood at is known only as far as the answer tells.
    used: () => (row.result === 'rate_limited' ? Number.MAX_SAFE_INTEGER : 0),
    agent: (id) => agents.get(id) as NonNullable<typeof agent>,
    approved: () => row.result === 'allowed',
  };
  const { entries, ...trace } = explain(agent, ask, world, decide(agent, ask, world));
  const ids = [...agents.keys()];
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
  };
}

const waitingCall = (db: Db, approvalId: string) =>
  db
    .selectFrom('approvals')
    .select(['action', 'resource', 'arguments as parameters'])
    .where('id', '=', approvalId)
    .executeTakeFirstOrThrow();

/** What a counter stood at then is not known. */
function withoutUse({ used: _, ...entry }: TracedEntry): TracedEntry {
  const { source } = entry;
  return source.type === 'own' || !source.entries
    ? entry
    : { ...entry, source: { ...source, entries: source.entries.map(withoutUse) } };
}
