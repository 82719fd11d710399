import { option, type Section } from '../../kernel/config.ts';

export const delegationsConfig = {
  maxPerPair: option.integer({
    default: 100,
    min: 1,
    description: 'Maximum number of active delegations from one agent to another. Each exchanged token counts as one.',
  }),
  maxGiven: option.integer({
    default: 1000,
    min: 1,
    description: 'Maximum number of active delegations from one agent.',
  }),
  maxReceived: option.integer({
    default: 1000,
    min: 1,
    description: 'Maximum number of active delegations to one agent; at most half of them from agents of other owners.',
  }),
  maxReceivedPermissions: option.integer({
    default: 5000,
    min: 1,
    description:
      'Maximum number of permission entries in all active delegations to one agent; ' +
      'at most half of them from agents of other owners.',
  }),
} satisfies Section;
