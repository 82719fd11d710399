import { option, type Section } from '../../kernel/config.ts';

export const delegationsConfig = {
  maxPerPair: option.integer({
    default: 100,
    min: 1,
    description: 'Active delegations from one agent to another. Each exchanged token counts as one.',
  }),
  maxGiven: option.integer({
    default: 1000,
    min: 1,
    description: 'Active delegations that one agent gives.',
  }),
  maxReceived: option.integer({
    default: 1000,
    min: 1,
    description: 'Active delegations that one agent receives; at most half of them from agents of other owners.',
  }),
  maxReceivedPermissions: option.integer({
    default: 5000,
    min: 1,
    description:
      'Permission entries in all active delegations that one agent receives; ' +
      'at most half of them from agents of other owners.',
  }),
} satisfies Section;
