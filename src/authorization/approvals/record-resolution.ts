import type { ExpressionBuilder } from 'kysely';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { type Change, changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { ApprovalRow, Tables } from '../../storage/index.ts';
import { type ApprovalStep, approvalStep } from '../permissions/index.ts';

type Resolution = { readonly status: ApprovalStep } & Partial<
  Pick<ApprovalRow, 'resolved_at' | 'resolved_by' | 'note' | 'expires_at'>
>;

/** Records the new status of an approval in one change: the row, the audit entry and the event `approval.resolved`. */
export async function recordResolution(
  { redactedKeys }: Pick<Platform, 'redactedKeys'>,
  change: Change,
  row: ApprovalRow,
  resolution: Resolution,
): Promise<ApprovalRow> {
  const resolved = { ...row, ...resolution };
  await change.db.updateTable('approvals').set(resolution).where('id', '=', row.id).execute();
  record(redactedKeys, change, row, resolved);
  return resolved;
}

/** Expires the pending and the approved, unused approvals of these agents, which can no longer use them. */
export async function expireApprovalsOf(
  { redactedKeys }: Pick<Platform, 'redactedKeys'>,
  change: Change,
  agentIds: readonly Id<'agent'>[],
): Promise<void> {
  for (const some of chunk(agentIds)) {
    const usable = ({ eb, and }: ExpressionBuilder<Tables, 'approvals'>) =>
      and([eb('agent_id', 'in', some), eb('status', 'in', ['pending', 'approved']), eb('expires_at', '>', change.now)]);
    const rows = await change.db.selectFrom('approvals').selectAll().where(usable).orderBy('id').execute();
    await change.db.updateTable('approvals').set({ status: 'expired' }).where(usable).execute();
    for (const row of rows) record(redactedKeys, change, row, { ...row, status: 'expired' });
  }
}

function record(
  redactedKeys: ReadonlySet<string>,
  change: Change,
  row: ApprovalRow,
  resolved: ApprovalRow & Pick<Resolution, 'status'>,
): void {
  const { id, agent_id: agentId, user_id: userId, action, resource, status } = resolved;
  change.record(approvalStep(resolved, status, change.now, redactedKeys, change.actor));
  change.emit({
    type: 'approval.resolved',
    agentId,
    userId,
    data: { approvalId: id, agentId, action, resource, status },
    ...changedFields(fieldsOf(row), fieldsOf(resolved)),
  });
}

const fieldsOf = ({ status, expires_at, resolved_at, resolved_by, note }: ApprovalRow) => ({
  status,
  expiresAt: isoTime(expires_at),
  resolvedAt: resolved_at === null ? null : isoTime(resolved_at),
  resolvedBy: resolved_by,
  note,
});
