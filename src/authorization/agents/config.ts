import { option, type Section } from '../../kernel/config.ts';

export const agentsConfig = {
  maxPerOwner: option.integer({ default: 200, min: 0, description: 'Active agents that one owner may have.' }),
} satisfies Section;
