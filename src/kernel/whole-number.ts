import { z } from 'zod';

/** A whole number within bounds. Every error message names the bounds. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const message =
    max === Number.MAX_SAFE_INTEGER
      ? `must be a whole number of ${min} or more`
      : `must be a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
}
