import { option, type Section } from '../../kernel/config.ts';

export const anomaliesConfig = {
  enabled: option.boolean({
    default: true,
    description: 'Look for unusual behaviour of agents in the ledger as it is written.',
  }),
  denialBurst: {
    count: option.integer({
      default: 20,
      min: 2,
      max: 1000,
      description: 'Refused decisions of one agent within the window that are a burst.',
    }),
    windowSeconds: option.integer({ default: 60, min: 1, max: 86_400, description: 'Window of a burst of refusals.' }),
  },
  rateSpike: {
    factor: option.integer({
      default: 5,
      min: 2,
      max: 1000,
      description: "How many times its own baseline an agent's decisions within five minutes have to be.",
    }),
    minCalls: option.integer({
      default: 50,
      min: 1,
      max: 1_000_000,
      description: 'Decisions within five minutes below which nothing is a spike.',
    }),
    warmUp: option.integer({
      default: 12,
      min: 1,
      max: 10_000,
      description: 'Five-minute periods with decisions after which an agent has a baseline.',
    }),
  },
  newNamespace: {
    warmUpCalls: option.integer({
      default: 100,
      min: 1,
      max: 1_000_000,
      description: 'Decisions after which the first use of a resource namespace is remarkable.',
    }),
  },
  unusualHour: {
    warmUpDays: option.integer({
      default: 7,
      min: 1,
      max: 365,
      description: 'Days with decisions after which an agent has usual hours.',
    }),
    sharePercent: option.integer({
      default: 1,
      min: 1,
      max: 50,
      description:
        "Share of an agent's decisions below which an hour of the day (UTC), and both hours beside it, are unusual.",
    }),
  },
  probing: {
    resources: option.integer({
      default: 10,
      min: 2,
      max: 200,
      description: 'Different resources refused to one agent within the window that are probing.',
    }),
    windowSeconds: option.integer({ default: 600, min: 1, max: 86_400, description: 'Window of probing.' }),
  },
} satisfies Section;
