import { option, type Section } from '../lib/config.ts';

export const webhooksConfig = {
  retryDelaysMs: option.integers({
    default: [5000, 300_000, 1_800_000],
    description: 'Waits before the retries of a delivery, in ms: as many retries as there are waits. Each varies by a fifth.',
  }),
  allowPrivateNetworks: option.boolean({ default: false, description: 'Deliver to private addresses and over http, too. For development.' }),
} satisfies Section;
