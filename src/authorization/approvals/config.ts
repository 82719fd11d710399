import { option, type Section } from '../../kernel/config.ts';

export const approvalsConfig = {
  ttl: option.integer({
    default: 300,
    min: 1,
    max: 7 * 24 * 3600,
    description:
      'Seconds until an approval expires: while it waits for a person, and again after it was given and not used.',
  }),
  maxWaitingPerAgent: option.integer({
    default: 100,
    min: 1,
    description:
      'Calls of one agent that may wait for approval at once; further ones are refused without an approvalId.',
  }),
} satisfies Section;
