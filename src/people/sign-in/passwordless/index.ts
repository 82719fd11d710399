import { defineModule } from '../../../platform.ts';
import { passwordlessRoutes } from './routes.ts';

export { emailCodeCookie, sendEmailCode, useEmailCode } from './email-code.ts';
export { sendMagicLink } from './magic-link.ts';
export { SendCode, VerifyCode } from './schema.ts';

export const passwordless = defineModule({
  name: 'passwordless',
  description: 'Sign-in by mail: links and codes.',
  routes: passwordlessRoutes,
});
