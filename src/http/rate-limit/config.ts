import { z } from 'zod';
import { type Option, option, type Section } from '../../kernel/config.ts';
import { LIMITED_ENDPOINTS, type LimitedEndpoint } from '../../platform/limited-endpoints.ts';
import { MAX_LIMIT, MAX_WINDOW_SECONDS } from './outcome.ts';

export const redisUrlOption = (defaultText: string, description: string): Option<string | undefined> =>
  option.optionalString({
    secret: true,
    defaultText,
    schema: z
      .string()
      .refine(
        (url) => /^rediss?:\/\/.+$/.test(url) && URL.canParse(url),
        'must be redis://... or rediss://..., with special characters of the password encoded (# is %23)',
      ),
    description,
  });

interface Limited {
  readonly limit: number;
  readonly window: number;
  readonly what: string;
  /** The key by which requests are counted, if not the client address. */
  readonly per?: string;
}

const endpoints = Object.fromEntries(
  Object.entries<Limited>(LIMITED_ENDPOINTS).map(([name, { limit, window, what, per = 'client address' }]) => [
    name,
    {
      limit: option.integer({
        default: limit,
        min: 1,
        max: MAX_LIMIT,
        description: `Requests to ${what} within the window, for each ${per}.`,
      }),
      window: option.integer({ default: window, min: 1, max: MAX_WINDOW_SECONDS, description: 'Window in seconds.' }),
    },
  ]),
) as Record<LimitedEndpoint, { limit: Option<number>; window: Option<number> }>;

/** Specification, section 8.1. */
export const rateLimitConfig = {
  store: option.oneOf(['memory', 'redis'], {
    default: 'memory',
    description: 'Where requests are counted. With redis, instances share the counters.',
  }),
  redisUrl: redisUrlOption('redisUrl', 'Redis for the counters. Required if the store is redis.'),
  endpoints,
} satisfies Section;
