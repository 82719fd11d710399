import { asUser } from '../../access/principal.ts';
import { isForm } from '../../http/media-type.ts';
import { logRefusal } from '../../http/render-error.ts';
import { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import { errorPage, languageOf, type Site, textsFor } from '../../pages/index.ts';
import { defineRoute } from '../../platform.ts';
import { readKnownDevice } from '../sign-in/attempts/known-device.ts';
import { UserErrors } from '../users/errors.ts';
import { sessionOf } from '../users/mark-email-verified.ts';
import { ChangePassword, Done, LinkQuery, MailRequest, ResetPassword, UseReset } from '../users/schema.ts';
import { changePassword } from './change-password.ts';
import { passwordChangedPage, resetFormPage } from './password-pages.ts';
import { passwordErrors } from './password-policy.ts';
import { assertResetToken, forgotPassword, resetPassword } from './reset-password.ts';

const { INVALID_PASSWORD, INVALID_TOKEN, MAIL_NOT_CONFIGURED, PASSWORD_CHECKS_BUSY, PASSWORDS_OFF, TOO_MANY_TRIES } =
  UserErrors;
/** The page for an invalid link, with a link to request a new one. */
const linkErrorPage = (site: Site, request: Request, error: LegateError): Response =>
  errorPage(site, request, error, { label: textsFor(request).errors.newLink, path: '/account/forgot-password' });
const HTML = { mediaTypes: ['text/html'] } as const;
const DONE = { status: 200, body: { status: true } } as const;

/** Contract, section 10. */
export const passwordRoutes = [
  defineRoute({
    method: 'POST',
    path: '/password/change',
    summary: "Change the caller's password",
    description: 'Ends all other sessions of the user immediately.',
    access: 'user',
    effect: 'ownAccount',
    rateLimit: 'passwordCheck',
    body: ChangePassword,
    responses: { 200: Done },
    errors: [INVALID_PASSWORD, TOO_MANY_TRIES, PASSWORD_CHECKS_BUSY, PASSWORDS_OFF, ...passwordErrors],
    handle: async (call, platform) => {
      const { reauthorize, ip, actor } = call;
      const person = { principal: asUser(call.principal), reauthorize, ip, actor };
      return { ...DONE, headers: await changePassword(platform, person, call.body, languageOf(call.request)) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/password/forgot',
    summary: 'Mail a link for setting a new password',
    description:
      'The answer is the same whether or not there is an account. The link points to callbackURL, if present, ' +
      'with the query parameter `token`. callbackURL must be on a trusted origin or one of users.resetPages.',
    access: 'public',
    rateLimit: 'passwordForgot',
    body: MailRequest,
    responses: { 200: Done },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      const { request } = call;
      await forgotPassword(platform, call.body, languageOf(request), readKnownDevice(platform, request));
      return DONE;
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/password/reset',
    summary: 'Page of a password reset link',
    access: 'public',
    page: true,
    query: LinkQuery,
    responses: { 200: HTML, 401: HTML },
    handle: async ({ query: { token }, request, requestId }, platform) => {
      try {
        await assertResetToken(platform, token);
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        logRefusal(platform, error, requestId);
        return linkErrorPage(platform, request, error);
      }
      return resetFormPage(platform, request, token);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/password/reset',
    summary: 'Set a new password with the token of a mail',
    description:
      'Immediately ends the sessions and API tokens of the user and the access of connected applications. A ' +
      'form is answered with a page, JSON with JSON.',
    access: 'public',
    page: true,
    form: true,
    body: UseReset,
    responses: { 200: Done },
    errors: [INVALID_TOKEN, PASSWORD_CHECKS_BUSY, PASSWORDS_OFF, ...passwordErrors],
    handle: async (call, platform) => {
      const { request } = call;
      const fromPage = isForm(request.headers.get('content-type'));
      try {
        const headers = await resetPassword(
          platform,
          parseWith(ResetPassword, call.body),
          { ip: call.ip, session: await sessionOf(call) },
          languageOf(request),
        );
        return fromPage ? passwordChangedPage(platform, request, headers) : { ...DONE, headers };
      } catch (error) {
        if (!fromPage || !(error instanceof LegateError)) throw error;
        logRefusal(platform, error, call.requestId);
        if (error.code === INVALID_TOKEN.code) return linkErrorPage(platform, request, error);
        return resetFormPage(platform, request, call.body.token, error);
      }
    },
  }),
];
