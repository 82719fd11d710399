import { z } from 'zod';

/** A form parameter. An empty value counts as omitted (RFC 6749, section 3.2). */
export const formParameter = (max = 2048) =>
  z
    .string()
    .max(max)
    .transform((value) => (value === '' ? undefined : value))
    .optional();
