import { option, type Section } from '../../kernel/config.ts';

export const approvalsConfig = {
  ttl: option.integer({
    default: 300,
    min: 1,
    max: 7 * 24 * 3600,
    description: 'Seconds after which an approval lapses: one that waits, and one that was given and not used.',
  }),
} satisfies Section;
