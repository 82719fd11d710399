import { option, type Section } from '../../kernel/config.ts';

export const anomaliesConfig = {
  enabled: option.boolean({
    default: true,
    description: 'Detect unusual behaviour of agents.',
  }),
  denialBurst: {
    count: option.integer({
      default: 20,
      min: 2,
      max: 1000,
      description: 'Number of refused decisions of one agent within the window that make a burst.',
    }),
    windowSeconds: option.integer({
      default: 60,
      min: 1,
      max: 86_400,
      description: 'Window of a burst of refusals, in seconds.',
    }),
  },
  rateSpike: {
    factor: option.integer({
      default: 5,
      min: 2,
      max: 1000,
      description: "How many times the agent's baseline its decisions within five minutes must reach to be a spike.",
    }),
    minCalls: option.integer({
      default: 50,
      min: 1,
      max: 1_000_000,
      description: 'Minimum number of decisions within five minutes for a spike.',
    }),
    warmUp: option.integer({
      default: 12,
      min: 1,
      max: 10_000,
      description: 'Number of five-minute periods with decisions after which an agent has a baseline.',
    }),
  },
  newNamespace: {
    warmUpCalls: option.integer({
      default: 100,
      min: 1,
      max: 1_000_000,
      description: 'Number of decisions after which the first use of a resource namespace is an anomaly.',
    }),
  },
  unusualHour: {
    warmUpDays: option.integer({
      default: 7,
      min: 1,
      max: 365,
      description: 'Number of days with decisions after which an agent has usual hours.',
    }),
    sharePercent: option.integer({
      default: 1,
      min: 1,
      max: 50,
      description:
        "Percentage of an agent's decisions. An hour of the day (UTC) is unusual if it and both adjacent hours are " +
        'below it.',
    }),
  },
  probing: {
    resources: option.integer({
      default: 10,
      min: 2,
      max: 200,
      description: 'Number of different resources refused to one agent within the window that count as probing.',
    }),
    windowSeconds: option.integer({ default: 600, min: 1, max: 86_400, description: 'Window of probing, in seconds.' }),
  },
} satisfies Section;
