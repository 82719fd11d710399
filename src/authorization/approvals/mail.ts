import { asId } from '../../kernel/ids.ts';
import { visible } from '../../kernel/visible-text.ts';
import { brandOf } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { approvalLink } from './approval-page.ts';
import { notifyOfApprovals } from './notify.ts';
import type { Approval } from './schema.ts';

/**
 * Mails each approval requested at this instance to the owner of the agent (`approvals.mail`). The mail links to the
 * page of the approval and contains no credential: the owner signs in there.
 */
export function mailApprovals(platform: Platform): void {
  if (!platform.config.approvals.mail || !platform.mailer.available) return;
  notifyOfApprovals(platform, (approval) => mailApproval(platform, approval));
}

async function mailApproval(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer'>,
  { id, agentId, action, resource }: Approval,
): Promise<void> {
  const owner = await platform.database.read
    .selectFrom('agents')
    .innerJoin('users', 'users.id', 'agents.owner_id')
    .select(['users.email', 'agents.name'])
    .where('agents.id', '=', asId('agent', agentId))
    .executeTakeFirst();
  if (!owner?.email) return;
  const link = approvalLink(platform, id);
  platform.mailer.send({
    to: owner.email,
    link,
    subject: `Agent "${visible(owner.name)}" waits for your approval at ${brandOf(platform)}`,
    text: [
      `Your agent "${visible(owner.name)}" asks to ${visible(action)} ${visible(resource)}.`,
      'Open this page to see the whole call, and to approve or deny it:',
      link,
      'You are asked to sign in there. If you do nothing, the call is not allowed.\n',
    ].join('\n\n'),
  });
}
