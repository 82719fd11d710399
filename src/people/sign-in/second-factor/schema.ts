import { z } from 'zod';
import { shownSecret } from '../../../kernel/secret-schema.ts';

export const Password = z.string().max(16_384).meta({ format: 'password' });

const UsablePassword = Password.optional().meta({
  description: 'Required if the account has a password that is not switched off by `users.passwords`.',
});

export const ProvePassword = z.strictObject({ password: UsablePassword }).meta({ id: 'ProvePasswordRequest' });

export const DisableTotp = z
  .strictObject({
    password: UsablePassword,
    code: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: 'Code of the app or backup code. Required once the second factor is on.' }),
  })
  .meta({ id: 'DisableTotpRequest' });
export type DisableTotp = z.output<typeof DisableTotp>;

export const TotpEnabling = z
  .object({
    totpURI: shownSecret('otpauth:// URI, to be shown as a QR code.'),
    secret: shownSecret('The same secret in Base32, for manual entry.'),
    backupCodes: z
      .array(shownSecret())
      .meta({ description: 'Ten single-use codes that replace a code of the app. Shown only in this answer.' }),
  })
  .meta({ id: 'TotpEnabling' });
export type TotpEnabling = z.output<typeof TotpEnabling>;

export const VerifyTotp = z
  .strictObject({
    code: z.string().min(1).max(64).meta({ description: 'Six digits of the authenticator app, or a backup code.' }),
    twoFactorToken: z.string().max(1024).optional().meta({
      description: 'From the first step of the sign-in. Without it, the code is for the session of this call.',
    }),
    trustDevice: z
      .boolean()
      .default(false)
      .meta({ description: 'true: this browser needs no second factor for 30 days.' }),
  })
  .meta({ id: 'VerifyTotpRequest' });
export type VerifyTotp = z.output<typeof VerifyTotp>;
