import { hash } from 'node:crypto';
import type { AuditRecord, NewEvent } from '../ledger/index.ts';
import { isoTime, SECOND_MS } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { ApprovalRow, Db } from '../storage/index.ts';

/** What a batch knows of the approval of one exact call. Changed as candidates of the batch ask for it or use it. */
export interface ApprovalState {
  id: string;
  status: 'none' | 'pending' | 'approved';
}

/** What an approval is bound to: agent, action, resource and the exact arguments, whatever the order of their keys. */
export function callDigest(agentId: string, call: { action: string; resource: string; arguments?: Record<string, unknown> | undefined }): string {
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

/** The newest approval of the call that is still worth something. */
export async function readApproval(db: Db, digest: string, now: number): Promise<ApprovalState> {
  const row = await db
    .selectFrom('approvals')
    .select(['id', 'status'])
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .where('status', 'in', ['pending', 'approved'])
    .orderBy('id', 'desc')
    .executeTakeFirst();
  return row ? { id: row.id, status: row.status as 'pending' | 'approved' } : { id: '', status: 'none' };
}

export function newApproval(digest: string, agent: { id: string; ownerId: string }, record: AuditRecord, now: number, ttlSeconds: number): ApprovalRow {
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

/** Works once: the state is taken back for the rest of the batch, the row for good. */
export function useApproval(state: ApprovalState, now: number): (db: Db) => Promise<void> {
  const { id } = state;
  state.status = 'none';
  return async (db) => {
    const { numUpdatedRows } = await db.updateTable('approvals').set({ status: 'used', expires_at: now }).where('id', '=', id).where('status', '=', 'approved').executeTakeFirst();
    if (numUpdatedRows !== 1n) throw new Error(`The approval ${id} was not there to be used.`);
  };
}

export const approvalRequested = (row: ApprovalRow): NewEvent => ({
  type: 'approval.requested',
  agentId: row.agent_id,
  userId: row.user_id,
  data: { approvalId: row.id, agentId: row.agent_id, action: row.action, resource: row.resource, status: row.status, expiresAt: isoTime(row.expires_at) },
});
