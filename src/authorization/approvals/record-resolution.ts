import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { ApprovalRow } from '../../storage/index.ts';
import { type ApprovalStep, approvalStep } from '../permissions/index.ts';

/** Records the new status of an approval in one change: the row, the audit entry and the event `approval.resolved`. */
export async function recordResolution(
  platform: Platform,
  change: Change,
  row: ApprovalRow,
  status: ApprovalStep,
): Promise<ApprovalRow> {
  const { id, agent_id: agentId, user_id: userId, action, resource, resolved_at, resolved_by, note, expires_at } = row;
  await change.db
    .updateTable('approvals')
    .set({ status, resolved_at, resolved_by, note, expires_at })
    .where('id', '=', id)
    .execute();
  change.record(approvalStep(row, status, change.now, platform.redactedKeys, change.actor));
  change.emit({
    type: 'approval.resolved',
    agentId,
    userId,
    data: { approvalId: id, agentId, action, resource, status },
  });
  return { ...row, status };
}
