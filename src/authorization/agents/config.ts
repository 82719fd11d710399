import { option, type Section } from '../../kernel/config.ts';

export const agentsConfig = {
  maxPerOwner: option.integer({ default: 200, min: 0, description: 'Maximum number of active agents of one owner.' }),
} satisfies Section;
