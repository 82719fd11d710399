import type { Caller } from '../../access/caller.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { ApprovalErrors } from './errors.ts';
import { recordResolution } from './record-resolution.ts';
import type { Approval } from './schema.ts';
import { getApproval, toApproval } from './store.ts';

/**
 * A person approves or denies a waiting call. An approved call may be made once, unchanged, within `approvals.ttl`
 * seconds. Emits `approval.resolved`, with an audit entry that names the person. 404 APPROVAL_NOT_FOUND; 409
 * APPROVAL_NOT_PENDING.
 */
export async function resolveApproval(
  platform: Pick<Platform, 'config' | 'ledger' | 'redactedKeys'>,
  caller: Caller,
  id: Id<'approval'>,
  status: 'approved' | 'denied',
  note: string | undefined,
): Promise<Approval> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const row = await getApproval(db, await caller.reauthorize(db), id);
    if (row.status !== 'pending' || now >= row.expires_at) throw ApprovalErrors.APPROVAL_NOT_PENDING();
    const resolved = {
      status,
      resolved_at: now,
      resolved_by: caller.principal.kind === 'user' ? caller.principal.userId : null,
      note: note ?? null,
      expires_at: status === 'approved' ? now + platform.config.approvals.ttl * SECOND_MS : row.expires_at,
    };
    return toApproval(await recordResolution(platform, change, row, resolved), now);
  });
}
