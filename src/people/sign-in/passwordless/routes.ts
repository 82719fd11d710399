import { isForm } from '../../../http/media-type.ts';
import { logRefusal } from '../../../http/render-error.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { errorPage, languageOf, redirectTargets, type Site, seeOther, textsFor } from '../../../pages/index.ts';
import { type Call, defineRoute, type Platform } from '../../../platform.ts';
import { SessionErrors, startCookie } from '../../sessions/index.ts';
import {
  answerSignIn,
  checkCallbackUrl,
  confirmPage,
  Done,
  donePage,
  LinkQuery,
  MailRequest,
  redirectToSecondStep,
  SignInAnswer,
  type SignInDevice,
  sessionOf,
  signInDevice,
  UseLink,
  UserErrors,
  wouldEndCredentials,
} from '../../users/index.ts';
import { emailCodeCookie, sendEmailCode, useEmailCode } from './email-code.ts';
import { findMagicLink, sendMagicLink, useMagicLink } from './magic-link.ts';
import { CodeSent, SendCode, VerifyCode } from './schema.ts';

const { INVALID_CODE, INVALID_TOKEN, MAIL_NOT_CONFIGURED, TOO_MANY_TRIES } = UserErrors;
/** The page for an invalid link, with a link to request a new one. */
const linkErrorPage = (site: Site, request: Request, error: LegateError): Response =>
  errorPage(site, request, error, { label: textsFor(request).errors.newLink, path: '/account/magic-link' });
const HTML = { mediaTypes: ['text/html'] } as const;
/** If the browser is signed in to the account, credentials set up before the address was verified remain. */
const proving = async (
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  call: Call<unknown, unknown, unknown>,
): Promise<SignInDevice> => ({
  ...signInDevice(platform, call),
  session: await sessionOf(call),
});
const DONE = { status: 200, body: { status: true } } as const;

/** Contract, section 10. */
export const passwordlessRoutes = [
  defineRoute({
    method: 'POST',
    path: '/magic-link',
    summary: 'Mail a link that signs in',
    description:
      'The answer is the same whether or not there is an account. The link works once within 5 minutes and then ' +
      'redirects to callbackURL.',
    access: 'public',
    rateLimit: 'magicLink',
    body: MailRequest,
    responses: { 200: Done },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      const { knownDevice } = signInDevice(platform, call);
      const { email, callbackURL } = call.body;
      const callbackUrl = checkCallbackUrl(platform, callbackURL);
      await sendMagicLink(platform, { email, callbackUrl }, languageOf(call.request), knownDevice);
      return DONE;
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/magic-link/verify',
    summary: 'Confirmation page of a sign-in link',
    description:
      'Opening the page does not sign in or consume the link, so mail scanners that open every link do no harm.',
    access: 'public',
    page: true,
    query: LinkQuery,
    responses: { 200: HTML, 401: HTML },
    handle: async (call, platform) => {
      const { request, requestId } = call;
      const { token } = call.query;
      const found = await findMagicLink(platform, token);
      if (!found) {
        const error = INVALID_TOKEN({ reason: 'link-unknown' });
        logRefusal(platform, error, requestId);
        return linkErrorPage(platform, request, error);
      }
      return confirmPage(platform, request, textsFor(request).magicLink, token, {
        formTargets: redirectTargets(platform, found.callbackUrl),
        endsCredentials: await wouldEndCredentials(
          platform.database,
          { userId: found.userId, keepsPassword: false },
          await sessionOf(call),
        ),
      });
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/magic-link/verify',
    summary: 'Sign in with the token of a mail',
    description:
      'JSON is answered with JSON. The form of the page is answered with the session cookie and 303 to ' +
      'callbackURL, or a page.',
    access: 'public',
    rateLimit: 'magicLinkVerify',
    page: true,
    form: true,
    body: UseLink,
    responses: { 200: SignInAnswer, 303: null },
    secrets: ['token', 'twoFactorToken'],
    errors: [INVALID_TOKEN, SessionErrors.SESSION_LIMIT_REACHED],
    handle: async (call, platform) => {
      const { request } = call;
      const fromPage = isForm(request.headers.get('content-type'));
      try {
        const { result, callbackUrl } = await useMagicLink(platform, call.body.token, await proving(platform, call));
        if (!fromPage) return answerSignIn(platform, result);
        if ('twoFactorRequired' in result) return redirectToSecondStep(platform, result.twoFactorToken, callbackUrl);
        const cookies = [startCookie(platform, result.token, result.rememberMe)['set-cookie'], ...result.cookies];
        return callbackUrl === undefined
          ? donePage(platform, request, textsFor(request).magicLink, { next: 'account', cookies })
          : seeOther(callbackUrl, {}, cookies);
      } catch (error) {
        if (!fromPage || !(error instanceof LegateError)) throw error;
        logRefusal(platform, error, call.requestId);
        return linkErrorPage(platform, request, error);
      }
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/email-otp',
    summary: 'Mail a code that signs in',
    description:
      'The answer is the same whether or not there is an account. The code works once, for 5 minutes and three ' +
      'attempts, and replaces the code that this browser requested before. At most five codes an hour are sent to a ' +
      'mailbox, and five more for a browser in which the person has signed in. The requestToken binds the code to ' +
      'this request.',
    access: 'public',
    rateLimit: 'emailOtp',
    body: SendCode,
    secrets: ['requestToken'],
    responses: { 200: CodeSent },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      const { request } = call;
      const earlier = emailCodeCookie.read(platform, request);
      const { knownDevice } = signInDevice(platform, call);
      const requestToken = await sendEmailCode(platform, call.body.email, languageOf(request), {
        earlier,
        knownDevice,
      });
      return {
        status: 200,
        body: { status: true, requestToken },
        cookies: [emailCodeCookie.set(platform, requestToken)],
      };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/email-otp/verify',
    summary: 'Sign in with the code of a mail',
    description:
      'With the requestToken, or in the browser that requested the code, guesses of others do not use up its ' +
      'attempts. Ten wrong codes in a row, across all requests, lead to a pause.',
    access: 'public',
    rateLimit: 'emailOtpVerify',
    body: VerifyCode,
    responses: { 200: SignInAnswer },
    secrets: ['token', 'twoFactorToken'],
    errors: [INVALID_CODE, TOO_MANY_TRIES, SessionErrors.SESSION_LIMIT_REACHED],
    handle: async (call, platform) =>
      answerSignIn(
        platform,
        await useEmailCode(
          platform,
          call.body,
          call.body.requestToken ?? emailCodeCookie.read(platform, call.request),
          await proving(platform, call),
        ),
      ),
  }),
];
