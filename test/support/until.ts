import { vi } from 'vitest';

/** Long, since the machine may be busy: a condition that never holds fails all the same. */
const TIMEOUT_MS = 120_000;

type Options = { readonly timeout?: number; readonly interval?: number };

/** Resolves when the condition holds. */
export const until = <T>(condition: () => T | Promise<T>, options: Options = {}) =>
  vi.waitUntil(condition, { timeout: TIMEOUT_MS, ...options });

/** Resolves when the function no longer throws, with what it returns. */
export const untilPasses = <T>(check: () => T | Promise<T>, options: Options = {}): Promise<T> =>
  vi.waitFor(check, { timeout: TIMEOUT_MS, ...options });
