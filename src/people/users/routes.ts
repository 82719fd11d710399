import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import { afterCursor, cutPage, nextPage } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { Erasure, ErasureErrors } from '../../ledger/index.ts';
import { languageOf } from '../../pages/index.ts';
import { defineRoute } from '../../platform.ts';
import { passwordErrors } from '../passwords/password-policy.ts';
import { endCookie, SessionErrors, withRecentProof } from '../sessions/index.ts';
import { answerSignIn, deviceOf, signInDevice } from '../sign-in/finish-sign-in.ts';
import { getSession } from '../sign-in/get-session.ts';
import { signIn } from '../sign-in/sign-in.ts';
import { signOut } from '../sign-in/sign-out.ts';
import { signUp } from '../sign-in/sign-up.ts';
import { deleteUser } from './delete-user.ts';
import { eraseUser } from './erase-user.ts';
import { UserErrors } from './errors.ts';
import { getUser, listUsers } from './list-users.ts';
import {
  DeleteUser,
  ListUsers,
  SessionAndUser,
  SignIn,
  SignInAnswer,
  SignUpAnswer,
  SignUpRequest,
  UpdateUser,
  User,
} from './schema.ts';
import { updateUser } from './update-user.ts';

const {
  EMAIL_IN_USE,
  EMAIL_NOT_VERIFIED,
  INVALID_EMAIL_OR_PASSWORD,
  INVITE_INVALID,
  INVITE_REQUIRED,
  LAST_ADMIN,
  MAIL_NOT_CONFIGURED,
  PASSWORD_CHECKS_BUSY,
  PASSWORDS_OFF,
  SIGN_UP_CLOSED,
  TENANT_UNKNOWN,
  TOO_MANY_TRIES,
  USER_NOT_FOUND,
} = UserErrors;

/** Contract, section 10. */
export const userRoutes = [
  defineRoute({
    method: 'POST',
    path: '/sign-up',
    summary: 'Create an account and sign in',
    access: 'public',
    rateLimit: 'signUp',
    description:
      'If addresses must be verified, the answer is {"status":true} whether or not the address is in use, and a ' +
      'mail explains the next step.',
    body: SignUpRequest,
    responses: { 200: SignUpAnswer },
    secrets: ['token'],
    errors: [
      SIGN_UP_CLOSED,
      PASSWORDS_OFF,
      INVITE_REQUIRED,
      INVITE_INVALID,
      EMAIL_IN_USE,
      MAIL_NOT_CONFIGURED,
      PASSWORD_CHECKS_BUSY,
      ...passwordErrors,
    ],
    handle: async (call, platform) => {
      const { advice, ...result } = await signUp(platform, call.body, deviceOf(call), languageOf(call.request));
      return 'status' in result
        ? { status: 200, body: result, headers: advice }
        : answerSignIn(platform, result, advice);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/sign-in',
    summary: 'Sign in with e-mail address and password',
    description:
      'Always starts a new session. A user with a second factor gets a twoFactorToken for POST /totp/verify ' +
      'instead, unless the browser is trusted.',
    access: 'public',
    rateLimit: 'signIn',
    body: SignIn,
    responses: { 200: SignInAnswer },
    secrets: ['token', 'twoFactorToken'],
    errors: [
      INVALID_EMAIL_OR_PASSWORD,
      EMAIL_NOT_VERIFIED,
      PASSWORDS_OFF,
      SessionErrors.SESSION_LIMIT_REACHED,
      PASSWORD_CHECKS_BUSY,
      TOO_MANY_TRIES,
    ],
    handle: async (call, platform) =>
      answerSignIn(platform, await signIn(platform, call.body, signInDevice(platform, call))),
  }),
  defineRoute({
    method: 'POST',
    path: '/sign-out',
    summary: 'End the session of this call',
    access: 'enrolling',
    responses: { 204: null },
    handle: async (call, platform) => {
      await signOut(platform, call);
      return { status: 204, headers: endCookie(platform) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/auth/session',
    fastPath: true,
    summary: 'Get the caller and their session',
    access: 'enrolling',
    responses: { 200: SessionAndUser },
    handle: async (call, platform) => ({ status: 200, body: await getSession(platform, asUser(call.principal)) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/users',
    summary: 'List users',
    description: 'Ordered by id. A Link header with rel="next" points to the next page.',
    access: 'admin',
    query: ListUsers,
    responses: { 200: z.array(User) },
    handle: async ({ query: { limit, cursor, ...filter }, url }, platform) => {
      const { rows, next } = cutPage(
        await listUsers(platform, filter, { limit: limit + 1, after: afterCursor('user', cursor) }),
        limit,
      );
      return { status: 200, body: rows, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/users/:id',
    summary: 'Get a user',
    access: 'admin',
    versioned: true,
    params: idParams('user'),
    responses: { 200: User },
    errors: [USER_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await getUser(platform, call.params.id) }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/users/:id',
    summary: 'Change role, tenant, name or status of a user',
    description:
      "Takes effect with the user's next request. With the tenant, the user's agents move too, and their " +
      'delegations from and to agents of other owners end. Suspension ends sessions, grants and streams; API tokens ' +
      'and agents work again when it is lifted.',
    access: 'admin',
    preview: true,
    versioned: true,
    params: idParams('user'),
    body: UpdateUser,
    responses: { 200: User },
    errors: [USER_NOT_FOUND, LAST_ADMIN, TENANT_UNKNOWN, SessionErrors.REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateUser(
        platform,
        {
          reauthorize: call.body.role === undefined ? call.reauthorize : withRecentProof(platform, call),
          actor: call.actor,
          assertUnchanged: call.assertUnchanged,
        },
        call.params.id,
        call.body,
      ),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/users/:id',
    summary: 'Delete a user',
    description:
      "Ends the user's sessions and API tokens and revokes their agents. Audit entries remain. With `erase=true` the " +
      'ledger also erases personal data: parameters, addresses and user agents of decisions about their ' +
      'agents, and events about them. The answer is then 200.',
    access: 'admin',
    preview: true,
    versioned: true,
    params: idParams('user'),
    query: DeleteUser,
    responses: { 200: Erasure, 204: null },
    errors: [USER_NOT_FOUND, LAST_ADMIN, ErasureErrors.NOT_YET_SEALED, ErasureErrors.SEALED_ROW_DIFFERS],
    handle: async (call, platform) => {
      if (call.query.erase) return { status: 200, body: await eraseUser(platform, call, call.params.id) };
      await deleteUser(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
