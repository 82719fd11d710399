import type { BatchContext } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import {
  type ApprovalState,
  approvalRequested,
  insertApproval,
  newApproval,
  readApproval,
  readWaitingCalls,
  type WaitingCalls,
} from './approval.ts';
import type { CompiledAgent } from './compile.ts';
import type { Recorded } from './outcome.ts';

/** Key of the waiting calls of an agent or owner in what a batch shares. */
const waitingKey = (id: string): string => `waiting ${id}`;

/** Returns the approval of a call, which is read once per batch; undefined if it has not been read yet. */
export const loadedApproval = (context: BatchContext, digest: string): ApprovalState | undefined =>
  context.shared.get(digest) as ApprovalState | undefined;

/**
 * Reads the approval of a call, and how many calls of its agent and of the owner are waiting. If a read fails, nothing
 * counts as loaded, because other questions of the batch share it.
 */
export async function loadApproval(
  context: BatchContext,
  db: Db,
  digest: string,
  { id: agentId, ownerId }: CompiledAgent,
): Promise<void> {
  for (const [id, of] of [
    [agentId, { agentId }],
    [ownerId, { ownerId }],
  ] as const)
    if (!context.shared.has(waitingKey(id)))
      context.shared.set(waitingKey(id), await readWaitingCalls(db, of, context.now));
  // Last, because it shows that the others are there.
  if (!context.shared.has(digest)) context.shared.set(digest, await readApproval(db, digest, context.now));
}

/**
 * Reuses the pending approval of an identical call, or requests a new one. If the maximum number of calls of the agent
 * or its owner is already waiting, it requests none, and the refusal contains the limit instead of an approval. The
 * approval must be loaded.
 */
export function requestApproval(
  context: BatchContext,
  digest: string,
  agent: CompiledAgent,
  { maxWaitingPerAgent, maxWaitingPerOwner, ttl }: Platform['config']['approvals'],
  { answer, record }: Recorded,
): Recorded {
  const state = loadedApproval(context, digest) as ApprovalState;
  if (state.status === 'pending') return { answer: { ...answer, approvalId: state.id }, record };
  const ofAgent = context.shared.get(waitingKey(agent.id)) as WaitingCalls;
  const ofOwner = context.shared.get(waitingKey(agent.ownerId)) as WaitingCalls;
  if (ofAgent.count >= maxWaitingPerAgent)
    return { answer: { ...answer, approvalLimit: { per: 'agent', limit: maxWaitingPerAgent } }, record };
  if (ofOwner.count >= maxWaitingPerOwner)
    return { answer: { ...answer, approvalLimit: { per: 'owner', limit: maxWaitingPerOwner } }, record };
  ofAgent.count++;
  ofOwner.count++;
  const row = newApproval(digest, agent, record, context.now, ttl);
  state.id = row.id;
  state.status = 'pending';
  state.expiresAt = row.expires_at;
  return {
    answer: { ...answer, approvalId: row.id },
    record,
    write: insertApproval(row),
    events: [approvalRequested(row)],
  };
}
