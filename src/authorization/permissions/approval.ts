import { hash } from 'node:crypto';
import type { Actor } from '../../access/actor.ts';
import { isoTime, SECOND_MS } from '../../kernel/clock.ts';
import { asId, type Id, newId } from '../../kernel/ids.ts';
import { redact } from '../../kernel/redact.ts';
import { type AuditRecord, askedByOf, type NewEvent, writeDecided } from '../../ledger/index.ts';
import type { ApprovalRow, Db } from '../../storage/index.ts';

/** The approval of one exact call within one batch. Decisions of the batch that request or use it update this state. */
export interface ApprovalState {
  id: Id<'approval'>;
  status: 'none' | 'pending' | 'approved';
  /** End of an approval that was read, in ms. */
  expiresAt: number;
}

/** Digest that binds an approval to agent, action, resource and exact arguments, independent of the order of keys. */
export function callDigest(
  agentId: Id<'agent'>,
  call: { action: string; resource: string; arguments?: Record<string, unknown> | undefined },
): string {
  return hash('sha256', JSON.stringify([agentId, call.action, call.resource, canonical(call.arguments ?? {})]), 'hex');
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item)]),
  );
}

/**
 * How the outcome of a waiting call appears in the audit log. No decision has one of these reasons, so no agent can
 * write such an entry.
 */
export const APPROVAL_STEPS = {
  approved: { action: 'approve', reason: 'APPROVAL_GRANTED' },
  denied: { action: 'deny', reason: 'APPROVAL_DENIED' },
  expired: { action: 'expire', reason: 'APPROVAL_EXPIRED' },
} as const;
export type ApprovalStep = keyof typeof APPROVAL_STEPS;

export const APPROVAL_STEP_REASONS: readonly string[] = Object.values(APPROVAL_STEPS).map(({ reason }) => reason);
const STEP_RESOURCE = 'legate:approvals:';

/** Whether an audit entry is a step of an approval and not a call of the agent. */
export const isApprovalStep = (reason: string | null): boolean =>
  reason !== null && APPROVAL_STEP_REASONS.includes(reason);

/** Id of the approval of an entry for which {@link isApprovalStep} is true. */
export const approvalOfStep = (resource: string): Id<'approval'> =>
  asId('approval', resource.slice(STEP_RESOURCE.length));

/**
 * Returns the audit entry of a step, attributed to the agent whose call waits. It omits the person's address, because
 * the agent may read the entry.
 */
export function approvalStep(
  row: ApprovalRow,
  step: ApprovalStep,
  now: number,
  redacted: ReadonlySet<string>,
  by: Actor,
): AuditRecord {
  const { action, reason } = APPROVAL_STEPS[step];
  const { id: approvalId, audit_id: auditId, resolved_by: resolvedBy, note } = row;
  return {
    id: newId('audit', now),
    agentId: row.agent_id,
    userId: row.user_id,
    action,
    resource: `${STEP_RESOURCE}${approvalId}`,
    result: step === 'approved' ? 'allowed' : 'denied',
    reason,
    durationMs: 0,
    tokensCost: null,
    parameters: JSON.stringify(
      redact({ approvalId, auditId, action: row.action, resource: row.resource, resolvedBy, note }, redacted),
    ),
    ip: null,
    userAgent: null,
    delegationIds: null,
    decided: writeDecided({ askedBy: askedByOf(by) }),
  };
}

/** Number of calls that wait for a person. Decisions of a batch share and increment it. */
export interface WaitingCalls {
  count: number;
}

/** Counts the waiting calls of an agent or of all agents of an owner. */
export async function readWaitingCalls(
  db: Db,
  of: { readonly agentId: Id<'agent'> } | { readonly ownerId: Id<'user'> },
  now: number,
): Promise<WaitingCalls> {
  let query = db
    .selectFrom('approvals')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('status', '=', 'pending')
    .where('expires_at', '>', now);
  query = 'agentId' in of ? query.where('agent_id', '=', of.agentId) : query.where('user_id', '=', of.ownerId);
  return { count: Number((await query.executeTakeFirstOrThrow()).count) };
}

/** Returns the newest valid approval of the call. */
export async function readApproval(db: Db, digest: string, now: number): Promise<ApprovalState> {
  const row = await db
    .selectFrom('approvals')
    .select(['id', 'status', 'expires_at'])
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .where('status', 'in', ['pending', 'approved'])
    .orderBy('id', 'desc')
    .executeTakeFirst();
  return row
    ? { id: row.id, status: row.status as 'pending' | 'approved', expiresAt: row.expires_at }
    : { id: asId('approval', ''), status: 'none', expiresAt: 0 };
}

export function newApproval(
  digest: string,
  agent: { id: Id<'agent'>; ownerId: Id<'user'> },
  record: AuditRecord,
  now: number,
  ttlSeconds: number,
): ApprovalRow {
  return {
    id: newId('approval', now),
    digest,
    agent_id: agent.id,
    user_id: agent.ownerId,
    action: record.action,
    resource: record.resource,
    arguments: record.parameters ?? '{}',
    status: 'pending',
    audit_id: record.id,
    created_at: now,
    expires_at: now + ttlSeconds * SECOND_MS,
    resolved_at: null,
    resolved_by: null,
    note: null,
  };
}

export const insertApproval =
  (row: ApprovalRow) =>
  async (db: Db): Promise<void> => {
    await db.insertInto('approvals').values(row).execute();
  };

/** Uses an approval once: clears its state for the rest of the batch, and marks its row as used. */
export function useApproval(state: ApprovalState, now: number): (db: Db) => Promise<void> {
  const { id } = state;
  state.status = 'none';
  return async (db) => {
    const { numUpdatedRows } = await db
      .updateTable('approvals')
      .set({ status: 'used', expires_at: now })
      .where('id', '=', id)
      .where('status', '=', 'approved')
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) throw new Error(`The approval ${id} is no longer approved.`);
  };
}

export const approvalRequested = (row: ApprovalRow): NewEvent => ({
  type: 'approval.requested',
  agentId: row.agent_id,
  userId: row.user_id,
  data: {
    approvalId: row.id,
    agentId: row.agent_id,
    action: row.action,
    resource: row.resource,
    status: row.status,
    expiresAt: isoTime(row.expires_at),
  },
  after: { status: row.status, expiresAt: isoTime(row.expires_at) },
});
