import { z } from 'zod';

/** A parameter of a form. Without a value it is as if it were not there (RFC 6749, section 3.2). */
export const formParameter = (max = 2048) =>
  z
    .string()
    .max(max)
    .transform((value) => (value === '' ? undefined : value))
    .optional();
