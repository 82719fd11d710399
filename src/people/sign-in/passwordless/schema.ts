import { z } from 'zod';
import { shownSecret } from '../../../kernel/secret-schema.ts';
import { AnyEmail, Email } from '../../users/index.ts';

export const SendCode = z.strictObject({ email: Email }).meta({ id: 'SendCodeRequest' });

/** The answer is the same for every address. */
export const CodeSent = z
  .object({
    status: z.literal(true),
    requestToken: shownSecret('For POST /email-otp/verify: binds the code to this request. Also set as a cookie.'),
  })
  .meta({ id: 'CodeSent' });

export const VerifyCode = z
  .strictObject({
    email: AnyEmail,
    otp: z.string().max(64).meta({ description: 'Six digits from the mail.' }),
    requestToken: z
      .string()
      .max(1024)
      .optional()
      .meta({
        description:
          'From the answer of POST /email-otp; a browser has it as a cookie. With it, guesses of others do not use ' +
          'up the attempts of this code.',
      }),
    rememberMe: z
      .boolean()
      .default(true)
      .meta({ description: 'false: the browser deletes the cookie when it closes.' }),
  })
  .meta({ id: 'VerifyCodeRequest' });
export type VerifyCode = z.output<typeof VerifyCode>;
