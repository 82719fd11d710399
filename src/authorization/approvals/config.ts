import { option, type Section } from '../../kernel/config.ts';

export const approvalsConfig = {
  ttl: option.integer({
    default: 300,
    min: 1,
    max: 7 * 24 * 3600,
    description: 'Seconds until an approval expires, counted from the request and again from its approval by a person.',
  }),
  maxWaitingPerAgent: option.integer({
    default: 100,
    min: 1,
    description:
      'Maximum number of calls of one agent that wait for approval. Further ones are refused without an approvalId.',
  }),
  maxWaitingPerOwner: option.integer({
    default: 1000,
    min: 1,
    description:
      'Maximum number of calls of all agents of one owner that wait for approval. Further ones are refused without ' +
      'an approvalId.',
  }),
  mail: option.boolean({
    default: true,
    description:
      "Mails each call that waits for approval to the owner of the agent, with a link to the approval's page, if " +
      'mail is available.',
  }),
} satisfies Section;
