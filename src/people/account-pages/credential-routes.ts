import { defineRoute } from '../../platform.ts';
import { ApiTokenErrors } from '../api-tokens/index.ts';
import { SessionErrors } from '../sessions/index.ts';
import { SecondFactorErrors } from '../sign-in/second-factor/index.ts';
import { passwordErrors, UserErrors } from '../users/index.ts';
import { ConnectionsForm, connectionsForm, connectionsPage, connectionsPageErrors } from './connections-page.ts';
import { EmailCodeForm, emailCodeForm, emailCodePage, UseEmailCodeForm, useEmailCodeForm } from './email-code-page.ts';
import { PATHS } from './form.ts';
import { PasskeysForm, passkeysForm } from './passkeys-form.ts';
import { passkeysPage, passkeysPageErrors } from './passkeys-page.ts';
import { PasswordForm, passwordForm, passwordPage } from './password-page.ts';
import { RevokeTokenForm, revokeTokenForm, TokenForm, tokenForm } from './tokens-form.ts';
import { tokensPage } from './tokens-page.ts';
import { EndTrustForm, endTrustForm, TwoFactorForm, twoFactorForm } from './two-factor-form.ts';
import { twoFactorPage } from './two-factor-page.ts';

const HTML = { mediaTypes: ['text/html'] } as const;
const { INVALID_CODE, INVALID_PASSWORD, PASSWORD_CHECKS_BUSY, PASSWORDS_OFF, TOO_MANY_TRIES } = UserErrors;

/** The pages for a person's own credentials, and the sign-in by a mailed code (contract, section 19). */
export const credentialRoutes = [
  defineRoute({
    method: 'GET',
    path: PATHS.twoFactor,
    summary: "Page of the caller's second factor",
    description:
      'Sets up a second factor, creates new backup codes, lists trusted devices and switches the second factor off. ' +
      'Users who must set up a second factor are redirected here from every other page.',
    access: 'enrolling',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => twoFactorPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.twoFactor,
    summary: "Form of the page of the caller's second factor",
    description:
      '`begin` needs the password and shows the secret, `confirm` needs a code of the app, `backup-codes` a code, ' +
      '`off` the password and a code. Accounts without a usable password send none. Shares its rate limit with POST ' +
      '/totp/enable.',
    access: 'enrolling',
    page: true,
    rateLimit: 'passwordCheck',
    body: TwoFactorForm,
    form: true,
    responses: { 200: HTML, 303: null },
    errors: [
      INVALID_CODE,
      INVALID_PASSWORD,
      TOO_MANY_TRIES,
      PASSWORD_CHECKS_BUSY,
      SessionErrors.REAUTHENTICATION_REQUIRED,
      ...Object.values(SecondFactorErrors),
    ],
    handle: (call, platform) => twoFactorForm(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.trustedDevices,
    summary: "End the trust in one of the caller's devices or all",
    access: 'user',
    effect: 'ownAccount',
    page: true,
    body: EndTrustForm,
    form: true,
    responses: { 303: null },
    handle: (call, platform) => endTrustForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.passkeys,
    summary: "Page of the caller's passkeys",
    description:
      'Lists, adds and removes passkeys. Adding needs a script; everything else works without. Users who must set up ' +
      'a second factor can add a passkey instead of an authenticator app.',
    access: 'enrolling',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => passkeysPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.passkeys,
    summary: "Form of the page of the caller's passkeys",
    description:
      '`remove` removes a passkey; `confirm` takes a code of the second factor, after which passkeys can be changed ' +
      'for 15 minutes. Shares its rate limit with POST /totp/verify.',
    access: 'user',
    effect: 'ownAccount',
    page: true,
    rateLimit: 'totpVerify',
    body: PasskeysForm,
    form: true,
    responses: { 303: null },
    errors: [...passkeysPageErrors, SecondFactorErrors.TOTP_NOT_SET_UP],
    handle: (call, platform) => passkeysForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.connections,
    summary: "Page of the caller's connections with identity providers",
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => connectionsPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.connections,
    summary: "Form of the page of the caller's connections",
    description:
      '`connect` leads to an identity provider, whose callback connects the account; `remove` removes a connection. ' +
      'Both need a sign-in within the last 15 minutes. Shares its rate limit with GET /auth/oidc/:name/start.',
    access: 'user',
    effect: 'ownAccount',
    page: true,
    rateLimit: 'providerSignIn',
    body: ConnectionsForm,
    form: true,
    responses: { 200: HTML, 303: null },
    errors: connectionsPageErrors,
    handle: (call, platform) => connectionsForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.password,
    summary: "Page that changes the caller's password",
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => passwordPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.password,
    summary: "Form of the page that changes the caller's password",
    description: 'Ends all other sessions of the user. Shares its rate limit with POST /password/change.',
    access: 'user',
    effect: 'ownAccount',
    page: true,
    rateLimit: 'passwordCheck',
    body: PasswordForm,
    form: true,
    responses: { 303: null },
    errors: [INVALID_PASSWORD, TOO_MANY_TRIES, PASSWORD_CHECKS_BUSY, PASSWORDS_OFF, ...passwordErrors],
    handle: (call, platform) => passwordForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: PATHS.tokens,
    summary: "Page of the caller's API tokens",
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => tokensPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.tokens,
    summary: 'Form that creates an API token',
    description:
      'Shows the token once. Users with a second factor that was not used recently also enter a code. Shares its ' +
      'rate limit with POST /totp/verify.',
    access: 'user',
    effect: 'ownAccount',
    page: true,
    rateLimit: 'totpVerify',
    body: TokenForm,
    form: true,
    responses: { 200: HTML },
    errors: [
      INVALID_CODE,
      TOO_MANY_TRIES,
      SecondFactorErrors.TOTP_NOT_SET_UP,
      SessionErrors.REAUTHENTICATION_REQUIRED,
      ApiTokenErrors.EXPIRES_AT_IN_PAST,
      ApiTokenErrors.API_TOKEN_LIMIT_EXCEEDED,
    ],
    handle: (call, platform) => tokenForm(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.revokeToken,
    summary: 'Form that revokes an API token',
    access: 'user',
    effect: 'ownAccount',
    page: true,
    body: RevokeTokenForm,
    form: true,
    responses: { 303: null },
    handle: (call, platform) => revokeTokenForm(platform, call),
  }),
  ...[PATHS.emailCode, PATHS.useEmailCode].map((path) =>
    defineRoute({
      method: 'GET',
      path,
      summary: 'Page that mails a code that signs in',
      access: 'public',
      page: true,
      responses: { 200: HTML },
      handle: (call, platform) => emailCodePage(platform, call),
    }),
  ),
  defineRoute({
    method: 'POST',
    path: PATHS.emailCode,
    summary: 'Form of the page that mails a code that signs in',
    description:
      'The answer is the same whether or not there is an account. Shares its rate limit with POST /email-otp.',
    access: 'public',
    page: true,
    rateLimit: 'emailOtp',
    body: EmailCodeForm,
    form: true,
    responses: { 200: HTML },
    errors: [UserErrors.MAIL_NOT_CONFIGURED],
    handle: (call, platform) => emailCodeForm(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: PATHS.useEmailCode,
    summary: 'Form that signs in with the code of a mail',
    description: 'Shares its rate limit with POST /email-otp/verify.',
    access: 'public',
    page: true,
    rateLimit: 'emailOtpVerify',
    body: UseEmailCodeForm,
    form: true,
    responses: { 303: null },
    errors: [INVALID_CODE, TOO_MANY_TRIES, SessionErrors.SESSION_LIMIT_REACHED],
    handle: (call, platform) => useEmailCodeForm(platform, call),
  }),
];
