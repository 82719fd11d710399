import { CommonErrors, type LegateError } from '../../kernel/errors.ts';
import type { Verdict } from './outcome.ts';

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4). */
export const limitHeaders = (
  name: string,
  { limit, window, remaining, retryAfter }: Verdict,
): Record<string, string> => ({
  'ratelimit-policy': `"${name}";q=${limit};w=${Math.ceil(window)}`,
  ratelimit: `"${name}";r=${remaining};t=${retryAfter}`,
});

/** 429 RATE_LIMIT_EXCEEDED (specification 7). */
export const rateLimitExceeded = (name: string, verdict: Verdict): LegateError => {
  const { limit, window, retryAfter } = verdict;
  return CommonErrors.RATE_LIMIT_EXCEEDED({
    message:
      `Too many requests: ${limit} in ${window} ${window === 1 ? 'second' : 'seconds'} are allowed. ` +
      `Try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`,
    details: { limit, window, retryAfter },
    headers: { 'retry-after': String(retryAfter), ...limitHeaders(name, verdict) },
  });
};
