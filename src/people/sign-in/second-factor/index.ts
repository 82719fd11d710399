import { defineModule } from '../../../platform.ts';
import { SecondFactorErrors } from './errors.ts';
import { secondFactorRoutes } from './routes.ts';

export { completeSignIn } from './complete-sign-in.ts';

export const secondFactor = defineModule({
  name: 'second-factor',
  description: 'Second factors: authenticator apps (TOTP), backup codes and trusted devices.',
  routes: secondFactorRoutes,
  errors: SecondFactorErrors,
});
