import { asId } from '../../kernel/ids.ts';
import { visible } from '../../kernel/visible-text.ts';
import { brandOf, languageNamed, textsIn } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { approvalLink } from './approval-page.ts';
import { notifyOfApprovals } from './notify.ts';
import type { Approval } from './schema.ts';

/**
 * Mails each approval requested at this instance to the owner of the agent (`approvals.mail`). The mail links to the
 * page of the approval and contains no credential: the owner signs in there. It is in the language in which the owner
 * signed in last.
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
    .select(['users.email', 'users.language', 'agents.name'])
    .where('agents.id', '=', asId('agent', agentId))
    .executeTakeFirst();
  if (!owner?.email) return;
  const link = approvalLink(platform, id);
  const { mail } = textsIn(languageNamed(owner.language)).approval;
  const agent = visible(owner.name);
  const paragraphs = mail.text({ agent, action: visible(action), resource: visible(resource), link });
  platform.mailer.send({
    to: owner.email,
    link,
    subject: mail.subject(agent, brandOf(platform)),
    text: `${paragraphs.join('\n\n')}\n`,
  });
}
