import { defineModule } from '../../platform.ts';
import { inviteRoutes } from '../invites/invite-routes.ts';
import { passwordRoutes } from '../passwords/password-routes.ts';
import { setupRoutes } from '../setup/setup-routes.ts';
import { summedFailures } from '../sign-in/summed-failures.ts';
import { verifyEmailRoutes } from '../sign-in/verify-email-routes.ts';
import { UserErrors } from './errors.ts';
import { userRoutes } from './routes.ts';

/**
 * Accounts of people, and the first administrator.
 *
 * Guarantees: e-mail addresses are unique in their comparison form; a change of role applies to the next request on
 * every instance; the last administrator cannot be removed.
 *
 * Sign-in is in `../sign-in`, sessions in `../sessions`, passwords in `../passwords`. The port for other areas is
 * `src/platform.ts`.
 */
export { hasUsablePassword, mayUsePassword } from '../passwords/may-use-password.ts';
export { type PersonCalling, withPasswordIfUsable } from '../passwords/password-check.ts';
export { confirmPage, donePage } from '../passwords/password-pages.ts';
export { passwordErrors } from '../passwords/password-policy.ts';
export { forgotPassword } from '../passwords/reset-password.ts';
export { ensureFirstAdmin, type FirstAdmin } from '../setup/ensure-first-admin.ts';
export { browserCookie } from '../sign-in/browser-cookie.ts';
export { checkCallbackUrl, linkTo } from '../sign-in/callback-url.ts';
export {
  answerSignIn,
  deviceOf,
  type FirstStep,
  finishSignIn,
  type SignedInResult,
  type SignInDevice,
  type SignInResult,
  signInDevice,
  startSession,
} from '../sign-in/finish-sign-in.ts';
export { formProblems } from '../sign-in/form-problems.ts';
export { mailTexts } from '../sign-in/mail-texts.ts';
export {
  consumeOneTimeToken,
  deleteOneTimeTokens,
  findOneTimeToken,
} from '../sign-in/one-time-token.ts';
export { redirectToSecondStep, secondStepCookie } from '../sign-in/second-step.ts';
export {
  assertMail,
  createRequestedLink,
  sendNotice,
} from '../sign-in/send-mail.ts';
export { sessionIdOf } from '../sign-in/session-only.ts';
export { signIn } from '../sign-in/sign-in.ts';
export { FailedAttempt, recordFailure, withSignInAudit } from '../sign-in/sign-in-audit.ts';
export { signOut } from '../sign-in/sign-out.ts';
export { signUp } from '../sign-in/sign-up.ts';
export {
  endTrust,
  endTrustedDevices,
  listTrustedDevices,
  readDeviceToken,
  trustDevice,
} from '../sign-in/trusted-device.ts';
export { requestVerification } from '../sign-in/verify-email.ts';
export { type UsersApi, usersApi } from './api.ts';
export { AnyEmail, Email, emailKey } from './email.ts';
export { UserErrors } from './errors.ts';
export { markEmailVerified, sessionOf, wouldEndCredentials } from './mark-email-verified.ts';
export { pagePerson } from './page-person.ts';
export { Done, LinkQuery, MailRequest, SignedIn, SignIn, SignInAnswer, SignUp, UseLink, type User } from './schema.ts';
export {
  ensureExternalUser,
  findActiveUserByEmail,
  findToMail,
  findUser,
  getUserRow,
  insertUser,
  owners,
  toUser,
} from './store.ts';

export const users = defineModule({
  name: 'users',
  description: 'People: accounts, sign-in and sign-out, and the first administrator.',
  routes: [...userRoutes, ...passwordRoutes, ...verifyEmailRoutes, ...inviteRoutes, ...setupRoutes],
  errors: UserErrors,
  states: [summedFailures],
});
