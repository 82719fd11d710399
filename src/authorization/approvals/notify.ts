import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Approval } from './schema.ts';
import { getApproval, toApproval } from './store.ts';

/** Calls `notify` for each approval requested at this instance, after the request is durable. */
export function notifyOfApprovals(
  platform: Pick<Platform, 'clock' | 'database' | 'ledger' | 'log'>,
  notify: (approval: Approval) => Promise<void> | void,
): void {
  platform.ledger.onCommit(({ events }) => {
    for (const { type, data } of events) {
      if (type !== 'approval.requested') continue;
      getApproval(platform.database.read, { kind: 'all' }, data['approvalId'] as Id<'approval'>)
        .then((row) => notify(toApproval(row, platform.clock.now())))
        .catch((error: unknown) => platform.log.error({ err: error }, 'A notification of an approval failed'));
    }
  });
}
