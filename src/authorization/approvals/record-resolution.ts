import { isoTime } from '../../kernel/clock.ts';
import { type Change, changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { ApprovalRow } from '../../storage/index.ts';
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
  const { id, agent_id: agentId, user_id: userId, action, resource, status } = resolved;
  await change.db.updateTable('approvals').set(resolution).where('id', '=', id).execute();
  change.record(approvalStep(resolved, resolution.status, change.now, redactedKeys, change.actor));
  change.emit({
    type: 'approval.resolved',
    agentId,
    userId,
    data: { approvalId: id, agentId, action, resource, status },
    ...changedFields(fieldsOf(row), fieldsOf(resolved)),
  });
  return resolved;
}

const fieldsOf = ({ status, expires_at, resolved_at, resolved_by, note }: ApprovalRow) => ({
  status,
  expiresAt: isoTime(expires_at),
  resolvedAt: resolved_at === null ? null : isoTime(resolved_at),
  resolvedBy: resolved_by,
  note,
});
