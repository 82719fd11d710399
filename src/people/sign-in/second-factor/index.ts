import { defineModule } from '../../../platform.ts';
import { SecondFactorErrors } from './errors.ts';
import { secondFactorRoutes } from './routes.ts';

/**
 * Second factors: authenticator apps (TOTP), backup codes and trusted devices (decision 17).
 *
 * Guarantees: each code works once; secrets are encrypted and backup codes stored as HMAC; wrong codes are limited per
 * person.
 */
export { completeSignIn, findFirstStep } from './complete-sign-in.ts';
export { confirmTotp } from './confirm-totp.ts';
export { disableTotp } from './disable-totp.ts';
export { enableTotp } from './enable-totp.ts';
export { SecondFactorErrors } from './errors.ts';
export { renewBackupCodes } from './renew-backup-codes.ts';
export { findPendingUri, getSecondFactor, type SecondFactorState } from './second-factor-state.ts';

export const secondFactor = defineModule({
  name: 'second-factor',
  description: 'Second factors: authenticator apps (TOTP), backup codes and trusted devices.',
  routes: secondFactorRoutes,
  errors: SecondFactorErrors,
});
