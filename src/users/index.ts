import { defineModule } from '../platform.ts';
import { UserErrors } from './errors.ts';
import { inviteRoutes } from './invite-routes.ts';
import { passwordRoutes } from './password-routes.ts';
import { userRoutes } from './routes.ts';
import { setupRoutes } from './setup-routes.ts';
import { verifyEmailRoutes } from './verify-email-routes.ts';

export { type UsersApi, usersApi } from './api.ts';
export { checkCallbackUrl, linkTo } from './callback-url.ts';
export { AnyEmail, Email } from './email.ts';
export { ensureFirstAdmin, type FirstAdmin } from './ensure-first-admin.ts';
export { UserErrors } from './errors.ts';
export { answerSignIn, type FirstStep, finishSignIn, type SignedInResult, type SignInDevice, type SignInResult, signInDevice, startSession } from './finish-sign-in.ts';
export { formProblems } from './form-problems.ts';
export { mailTexts } from './mail-texts.ts';
export { countOneTimeTokens, createOneTimeToken, endOneTimeTokens, findOneTimeToken, takeOneTimeToken } from './one-time-token.ts';
export { confirmPage, donePage } from './password-pages.ts';
export { passwordErrors } from './password-policy.ts';
export { type PersonCalling, provingPassword } from './prove-password.ts';
export { attempting, refuse } from './refusal.ts';
export { forgotPassword } from './reset-password.ts';
export { AskForMail, Done, LinkQuery, SignedIn, SignIn, SignInAnswer, SignUp, UseLink, type User } from './schema.ts';
export { endSecondStep, secondStepCookie, secondStepToken } from './second-step.ts';
export { assertMail, MAX_LINKS } from './send-mail.ts';
export { sessionIdOf } from './session-only.ts';
export { signIn } from './sign-in.ts';
export { signOut } from './sign-out.ts';
export { signUp } from './sign-up.ts';
export { ensureExternalUser, findUser, findUserByEmail, toUser } from './store.ts';
export { endTrustedDevices, trustDevice } from './trusted-device.ts';
export { askForVerification } from './verify-email.ts';

export const users = defineModule({
  name: 'users',
  description: 'People: accounts, signing in and out, the first administrator.',
  routes: [...userRoutes, ...passwordRoutes, ...verifyEmailRoutes, ...inviteRoutes, ...setupRoutes],
  errors: UserErrors,
});
