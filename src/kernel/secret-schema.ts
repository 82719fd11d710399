import { z } from 'zod';
import type { PlainText } from './branded.ts';

/** A secret in a response. The hash or the ciphertext of a secret in its place does not type-check. */
export const shownSecret = (description?: string) =>
  (description === undefined ? z.string() : z.string().meta({ description })) as z.ZodType<string, string> as z.ZodType<
    PlainText,
    PlainText
  >;
