import { defineRoute } from '../../platform.ts';
import { SecondFactorErrors } from '../sign-in/second-factor/index.ts';
import { UserErrors } from '../users/index.ts';
import { PATHS } from './form.ts';
import { EndTrustForm, endTrustForm, TwoFactorForm, twoFactorForm } from './two-factor-form.ts';
import { twoFactorPage } from './two-factor-page.ts';

const HTML = { mediaTypes: ['text/html'] } as const;
const { INVALID_CODE, INVALID_PASSWORD, PASSWORD_CHECKS_BUSY, TOO_MANY_TRIES } = UserErrors;

/** The pages for a person's own credentials (contract, section 19). They need a session. */
export const credentialRoutes = [
  defineRoute({
    method: 'GET',
    path: PATHS.twoFactor,
    summary: "Page of the caller's second factor",
    description:
      'Sets up a second factor, creates new backup codes, lists trusted devices and switches the second factor off. ' +
      'Users who need a second factor and have none are redirected here from every other page.',
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
      '`begin` needs the password and shows the secret, `confirm` a code of the app, `backup-codes` a code, `off` ' +
      'the password and a code. Shares its rate limit with POST /totp/enable.',
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
];
