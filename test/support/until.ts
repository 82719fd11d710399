import { vi } from 'vitest';
import { PATIENCE_MS } from './patience.ts';

type Options = { readonly timeout?: number; readonly interval?: number };

/** Resolves when the condition holds. */
export const until = <T>(condition: () => T | Promise<T>, options: Options = {}) =>
  vi.waitUntil(condition, { timeout: PATIENCE_MS, ...options });

/** Resolves when the function no longer throws, with what it returns. */
export const untilPasses = <T>(check: () => T | Promise<T>, options: Options = {}): Promise<T> =>
  vi.waitFor(check, { timeout: PATIENCE_MS, ...options });
