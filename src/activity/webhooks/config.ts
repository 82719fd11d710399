import { option, type Section } from '../../kernel/config.ts';

export const webhooksConfig = {
  retryDelaysMs: option.integers({
    default: [5000, 300_000, 1_800_000],
    description:
      'Waits before the retries of a delivery, in ms: as many retries as there are waits. Each varies by a fifth.',
  }),
  timeoutMs: option.integer({
    default: 15_000,
    min: 100,
    max: 60_000,
    description: 'How long a receiver may take, from the look-up of its name to the end of its answer.',
  }),
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Deliver to private addresses and over http, too. For development.',
  }),
} satisfies Section;
