import { z } from 'zod';
import type { Id, IdKind } from './ids.ts';

/**
 * An id of a kind in a request. Any text that `form` accepts passes, because applications have their own ids for their
 * users; only a look-up shows whether it exists.
 */
export const idOf = <K extends IdKind>(_kind: K, form: z.ZodType<string, string> = z.string()) =>
  form as z.ZodType<unknown, string> as z.ZodType<Id<K>, string>;

/** The `:id` of a path. */
export const idParams = <K extends IdKind>(kind: K) => z.object({ id: idOf(kind) });
