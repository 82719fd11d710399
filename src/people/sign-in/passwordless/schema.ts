import { z } from 'zod';
import { AnyEmail, Email } from '../../users/index.ts';

export const SendCode = z.strictObject({ email: Email }).meta({ id: 'SendCodeRequest' });

export const VerifyCode = z
  .strictObject({
    email: AnyEmail,
    otp: z.string().max(64).meta({ description: 'Six digits from the mail.' }),
    rememberMe: z
      .boolean()
      .default(true)
      .meta({ description: 'false: the browser forgets the cookie when it closes.' }),
  })
  .meta({ id: 'VerifyCodeRequest' });
export type VerifyCode = z.output<typeof VerifyCode>;
