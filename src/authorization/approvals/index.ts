/**
 * Approvals: calls that a person has to agree to before they are allowed (contract 6, `requireApproval`).
 *
 * Guarantees: an approval is bound to one agent, action, resource and the exact arguments, and is used once; it expires
 * by the clock after `approvals.ttl`, and when its agent is revoked; only a person resolves it; every step has an audit
 * entry and an event.
 *
 * Elsewhere: ../permissions/approval.ts requests and uses approvals within decisions; this module lists, resolves and
 * expires them.
 */
import { defineModule } from '../../platform.ts';
import { ApprovalErrors } from './errors.ts';
import { expireApprovals } from './expire-approvals.ts';
import { expireApprovalsOf } from './record-resolution.ts';
import { approvalRoutes } from './routes.ts';

export { type ApprovalsApi, approvalsApi } from './api.ts';
export { approvalLink } from './approval-page.ts';
export { mailApprovals } from './mail.ts';
export { notifyOfApprovals } from './notify.ts';
export { Approval } from './schema.ts';

export const approvals = defineModule({
  name: 'approvals',
  description: 'Calls that need approval by a person.',
  routes: approvalRoutes,
  errors: ApprovalErrors,
  upkeep: expireApprovals,
  reactions: {
    'agent.revoked': (change, events, platform) =>
      expireApprovalsOf(
        platform,
        change,
        events.flatMap(({ agentId }) => agentId ?? []),
      ),
  },
});
