import { defineModule } from '../../../platform.ts';
import { passwordlessRoutes } from './routes.ts';

/**
 * Sign-in by a link or a code sent by mail (contract 10, decisions 17 and 28).
 *
 * Guarantees: links and codes work once; opening a link changes nothing; answers do not reveal whether an account
 * exists; guesses are limited per code and per mailbox.
 */
export { emailCodeCookie, sendEmailCode, useEmailCode } from './email-code.ts';
export { sendMagicLink } from './magic-link.ts';
export { SendCode, VerifyCode } from './schema.ts';

export const passwordless = defineModule({
  name: 'passwordless',
  description: 'Sign-in by mail: links and codes.',
  routes: passwordlessRoutes,
});
