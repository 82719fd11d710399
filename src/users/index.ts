import { defineModule } from '../platform.ts';
import { UserErrors } from './errors.ts';
import { userRoutes } from './routes.ts';
import { setupRoutes } from './setup-routes.ts';

export { type UsersApi, usersApi } from './api.ts';
export { ensureFirstAdmin, type FirstAdmin } from './ensure-first-admin.ts';
export { UserErrors } from './errors.ts';
export { answerSignIn, type FirstStep, finishSignIn, type SignedInResult, type SignInDevice, type SignInResult, signInDevice, startSession } from './finish-sign-in.ts';
export { formProblems } from './form-problems.ts';
export { createOneTimeToken, endOneTimeTokens, findOneTimeToken, takeOneTimeToken } from './one-time-token.ts';
export { type PersonCalling, provingPassword } from './prove-password.ts';
export { attempting, type Refusal, refuse } from './refusal.ts';
export { passwordErrors } from './routes.ts';
export { SignedIn, SignIn, SignInAnswer, SignUp, type User } from './schema.ts';
export { sessionIdOf } from './session-only.ts';
export { signIn } from './sign-in.ts';
export { signOut } from './sign-out.ts';
export { signUp } from './sign-up.ts';
export { ensureExternalUser, findUser, findUserByEmail, toUser } from './store.ts';
export { endTrustedDevices, trustDevice } from './trusted-device.ts';

export const users = defineModule({
  name: 'users',
  description: 'People: accounts, signing in and out, the first administrator.',
  routes: [...userRoutes, ...setupRoutes],
  errors: UserErrors,
});
