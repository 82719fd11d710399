import { option, type Section } from '../../kernel/config.ts';

export const approvalsConfig = {
  ttl: option.integer({
    default: 300,
    min: 1,
    max: 7 * 24 * 3600,
    description: 'Seconds after which an approval lapses: one that waits, and one that was given and not used.',
  }),
  maxWaitingPerAgent: option.integer({
    default: 100,
    min: 1,
    description:
      'Calls of one agent that may wait for a person at once; further ones are refused without an approvalId.',
  }),
} satisfies Section;
