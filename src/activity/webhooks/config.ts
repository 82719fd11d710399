import { option, type Section } from '../../kernel/config.ts';

export const webhooksConfig = {
  retryDelaysMs: option.integers({
    default: [5000, 300_000, 1_800_000],
    description:
      'Delays before the retries of a delivery, in ms. The number of delays is the number of retries. Each varies ' +
      'by a fifth.',
  }),
  timeoutMs: option.integer({
    default: 15_000,
    min: 100,
    max: 60_000,
    description: 'Timeout of a delivery in ms, from the look-up of the host name to the end of the response.',
  }),
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Also deliver to private addresses and over http. For development.',
  }),
} satisfies Section;
