import { asUser } from '../../../access/principal.ts';
import { readCookie, sessionCookieName } from '../../../access/session-cookie.ts';
import { idParams } from '../../../kernel/id-schema.ts';
import { languageOf } from '../../../pages/index.ts';
import { defineRoute, type Platform } from '../../../platform.ts';
import { SessionErrors, startCookie, withRecentProof } from '../../sessions/index.ts';
import { Done, SignedIn, sessionIdOf, signInDevice, UserErrors } from '../../users/index.ts';
import { completeSignIn } from './complete-sign-in.ts';
import { confirmTotp } from './confirm-totp.ts';
import { disableTotp } from './disable-totp.ts';
import { enableTotp } from './enable-totp.ts';
import { SecondFactorErrors } from './errors.ts';
import { resetTotp } from './reset-totp.ts';
import { DisableTotp, ProvePassword, TotpEnabling, VerifyTotp } from './schema.ts';

const { INVALID_CODE, INVALID_PASSWORD, PASSWORD_CHECKS_BUSY, TOO_MANY_TRIES } = UserErrors;
const { TOTP_ALREADY_ENABLED, TOTP_NOT_SET_UP } = SecondFactorErrors;

/** Returns the session token of the call. */
const tokenOf = ({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>, { headers }: Request): string =>
  headers.get('authorization')?.slice(7).trim() ??
  readCookie(headers.get('cookie'), sessionCookieName(baseUrl, config.service.name)) ??
  '';

/** Contract, section 10. */
export const secondFactorRoutes = [
  defineRoute({
    method: 'POST',
    path: '/totp/enable',
    summary: 'Set up a second factor',
    description:
      'The first correct code at POST /totp/verify switches it on. Until then, a repeated call replaces the ' +
      'secret and the backup codes. An account without a usable password needs a sign-in within the last 15 minutes ' +
      'instead of the password.',
    access: 'enrolling',
    rateLimit: 'passwordCheck',
    body: ProvePassword,
    responses: { 200: TotpEnabling },
    secrets: ['secret', 'totpURI', 'backupCodes'],
    errors: [
      INVALID_PASSWORD,
      TOO_MANY_TRIES,
      TOTP_ALREADY_ENABLED,
      PASSWORD_CHECKS_BUSY,
      SessionErrors.REAUTHENTICATION_REQUIRED,
    ],
    handle: async (call, platform) => {
      sessionIdOf(call.principal);
      return {
        status: 200,
        body: await enableTotp(
          platform,
          { principal: asUser(call.principal), reauthorize: call.reauthorize, ip: call.ip, actor: call.actor },
          call.body.password,
        ),
      };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/totp/verify',
    summary: 'Verify a code of the second factor',
    description:
      'With a twoFactorToken, this is the second step of a sign-in and starts the session. Without one, it is ' +
      'for a signed-in user: the first correct code switches the second factor on, and each later one counts as ' +
      'a recent authentication. The answer then contains the token of the current session.',
    access: 'public',
    checksItself: ['none', 'bearer', 'cookie'],
    rateLimit: 'totpVerify',
    body: VerifyTotp,
    responses: { 200: SignedIn },
    secrets: ['token'],
    errors: [
      INVALID_CODE,
      TOTP_NOT_SET_UP,
      TOO_MANY_TRIES,
      SessionErrors.REAUTHENTICATION_REQUIRED,
      SessionErrors.SESSION_LIMIT_REACHED,
    ],
    handle: async (call, platform) => {
      const { twoFactorToken } = call.body;
      if (twoFactorToken !== undefined) {
        const {
          token,
          user,
          rememberMe,
          deviceCookie,
          cookies: known,
        } = await completeSignIn(platform, { ...call.body, twoFactorToken }, signInDevice(platform, call));
        return {
          status: 200,
          body: { token, user },
          headers: startCookie(platform, token, rememberMe),
          cookies: [...known, ...cookiesOf(deviceCookie)],
        };
      }
      const { principal: caller, reauthorize, actor } = await call.authenticateAs('enrolling');
      const principal = asUser(caller);
      sessionIdOf(principal);
      const { user, deviceCookie } = await confirmTotp(platform, call.body, {
        principal,
        reauthorize,
        ip: call.ip,
        userAgent: call.userAgent,
        actor,
      });
      return { status: 200, body: { token: tokenOf(platform, call.request), user }, cookies: cookiesOf(deviceCookie) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/totp/disable',
    summary: 'Switch off the second factor',
    description:
      'Needs the password, if the account has a usable one, and a code of the app or a backup code. Also deletes the ' +
      'backup codes and trusted devices.',
    access: 'user',
    effect: 'ownAccount',
    rateLimit: 'passwordCheck',
    body: DisableTotp,
    responses: { 200: Done },
    errors: [INVALID_PASSWORD, INVALID_CODE, TOO_MANY_TRIES, PASSWORD_CHECKS_BUSY],
    handle: async (call, platform) => {
      sessionIdOf(call.principal);
      await disableTotp(
        platform,
        { principal: asUser(call.principal), reauthorize: call.reauthorize, ip: call.ip, actor: call.actor },
        call.body,
        languageOf(call.request),
      );
      return { status: 200, body: { status: true } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/second-factor',
    summary: 'Switch off the second factor of a user',
    description: 'For a user who has lost the authenticator app and the backup codes. Also removes their passkeys.',
    access: 'admin',
    versioned: true,
    params: idParams('user'),
    responses: { 204: null },
    errors: [UserErrors.USER_NOT_FOUND, SessionErrors.REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => {
      const { actor, assertUnchanged } = call;
      await resetTotp(
        platform,
        { reauthorize: withRecentProof(platform, call), actor, assertUnchanged },
        call.params.id,
      );
      return { status: 204 };
    },
  }),
];

const cookiesOf = (cookie: string | undefined): string[] => (cookie === undefined ? [] : [cookie]);
