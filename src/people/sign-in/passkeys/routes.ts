import { z } from 'zod';
import { asUser } from '../../../access/principal.ts';
import { idParams } from '../../../kernel/id-schema.ts';
import { languageOf } from '../../../pages/index.ts';
import { type Call, defineRoute, type Platform } from '../../../platform.ts';
import { SessionErrors, withRecentSignIn } from '../../sessions/index.ts';
import { answerSignIn, SignedIn, sessionIdOf, signInDevice, UserErrors } from '../../users/index.ts';
import { passkeyCookie } from './challenges.ts';
import { PasskeyErrors } from './errors.ts';
import { listPasskeys } from './list-passkeys.ts';
import { beginRegistration, completeRegistration, type Registering } from './register.ts';
import { removePasskey } from './remove-passkey.ts';
import { Passkey, RegistrationOptions, SignInOptions, VerifyPasskeySignIn, VerifyRegistration } from './schema.ts';
import { beginPasskeySignIn, completePasskeySignIn } from './sign-in.ts';

const { INVALID_PASSKEY, PASSKEY_EXISTS, PASSKEY_LIMIT_EXCEEDED, PASSKEY_NOT_FOUND, PASSKEY_REJECTED } = PasskeyErrors;
const { REAUTHENTICATION_REQUIRED, SESSION_LIMIT_REACHED } = SessionErrors;

type AnyCall = Call<unknown, unknown, unknown>;

/** Returns the caller, who must have signed in recently. API tokens pass. */
const withRecentProofOf = (platform: Pick<Platform, 'clock'>, call: AnyCall): Omit<Registering, 'sessionId'> => ({
  principal: asUser(call.principal),
  reauthorize: withRecentSignIn(platform, call),
  ip: call.ip,
  userAgent: call.userAgent,
  actor: call.actor,
});

/**
 * Returns the caller, who must have a session and have signed in recently. 403 FORBIDDEN without a session: an API
 * token must not create a passkey that outlives it.
 */
export const withSession = (platform: Pick<Platform, 'clock'>, call: AnyCall): Registering => ({
  sessionId: sessionIdOf(call.principal),
  ...withRecentProofOf(platform, call),
});

/** Contract, section 23.3. No scope allows these routes. */
export const passkeyRoutes = [
  defineRoute({
    method: 'POST',
    path: '/passkeys/register/options',
    summary: 'Start adding a passkey',
    description:
      'Returns options for navigator.credentials.create(). The challenge works once, for 5 minutes, in this session, ' +
      'and replaces an earlier one. Needs a session and a sign-in within the last 15 minutes. A person with ' +
      'passkeys must have used a passkey or a code. Open to people who must set up a second factor and have none.',
    access: 'enrolling',
    rateLimit: 'passkey',
    body: z.strictObject({}),
    bodyOptional: true,
    responses: { 200: RegistrationOptions },
    errors: [PASSKEY_LIMIT_EXCEEDED, REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => ({
      status: 200,
      body: await beginRegistration(platform, withSession(platform, call)),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/passkeys/register/verify',
    summary: 'Add a passkey',
    description:
      'Takes the answer of navigator.credentials.create(). A passkey counts as both factors: user verification is ' +
      'required. A person can have 20.',
    access: 'enrolling',
    rateLimit: 'passkey',
    body: VerifyRegistration,
    responses: { 201: Passkey },
    errors: [PASSKEY_REJECTED, PASSKEY_EXISTS, PASSKEY_LIMIT_EXCEEDED, REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => {
      const person = withSession(platform, call);
      return {
        status: 201,
        body: await completeRegistration(platform, person, call.body, languageOf(call.request)),
      };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/passkeys/sign-in/options',
    summary: 'Start a sign-in with a passkey',
    description:
      'Returns options for navigator.credentials.get(). The challenge works once, for 5 minutes, in the browser that ' +
      'receives the cookie of this answer.',
    access: 'public',
    rateLimit: 'passkey',
    body: z.strictObject({}),
    bodyOptional: true,
    responses: { 200: SignInOptions },
    handle: async (_, platform) => {
      const { options, browser } = await beginPasskeySignIn(platform);
      return { status: 200, body: options, cookies: [passkeyCookie.set(platform, browser)] };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/passkeys/sign-in/verify',
    summary: 'Sign in with a passkey',
    description:
      'Takes the answer of navigator.credentials.get(), together with the cookie of POST /passkeys/sign-in/options. ' +
      'A passkey counts as both factors, so no code is required.',
    access: 'public',
    rateLimit: 'passkey',
    body: VerifyPasskeySignIn,
    responses: { 200: SignedIn },
    secrets: ['token'],
    errors: [INVALID_PASSKEY, UserErrors.EMAIL_NOT_VERIFIED, SESSION_LIMIT_REACHED],
    handle: async (call, platform) => {
      const browser = passkeyCookie.read(platform, call.request);
      return answerSignIn(
        platform,
        await completePasskeySignIn(platform, call.body, browser, signInDevice(platform, call)),
      );
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/passkeys',
    summary: "List the caller's passkeys",
    description: 'Oldest first; at most 20.',
    access: 'user',
    responses: { 200: z.array(Passkey) },
    handle: async ({ principal }, platform) => ({
      status: 200,
      body: await listPasskeys(platform, asUser(principal).userId),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/passkeys/:id',
    summary: 'Remove a passkey',
    description:
      "The passkey can no longer sign in; sessions begun with it continue. Only the caller's own passkeys. A " +
      'session needs a sign-in with a passkey or a code within the last 15 minutes.',
    access: 'user',
    effect: 'ownAccount',
    params: idParams('passkey'),
    responses: { 204: null },
    errors: [PASSKEY_NOT_FOUND, REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => {
      const person = withRecentProofOf(platform, call);
      await removePasskey(platform, person, call.params.id, languageOf(call.request));
      return { status: 204 };
    },
  }),
];
