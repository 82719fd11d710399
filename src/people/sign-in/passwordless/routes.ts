import { isForm } from '../../../http/media-type.ts';
import { logRefusal } from '../../../http/render-error.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { errorPage, languageOf, seeOther, targetsBehind, textsFor } from '../../../pages/index.ts';
import { type Call, defineRoute, type Platform } from '../../../platform.ts';
import { SessionErrors, startCookie } from '../../sessions/index.ts';
import {
  AskForMail,
  answerSignIn,
  confirmPage,
  Done,
  donePage,
  LinkQuery,
  SignInAnswer,
  type SignInDevice,
  sessionOf,
  signInDevice,
  UseLink,
  UserErrors,
} from '../../users/index.ts';
import { sendEmailCode, useEmailCode } from './email-code.ts';
import { peekMagicLink, sendMagicLink, useMagicLink } from './magic-link.ts';
import { readRequestCookie, requestCookie } from './request-cookie.ts';
import { CodeSent, SendCode, VerifyCode } from './schema.ts';
import { toSecondStep } from './second-step.ts';

const { INVALID_CODE, INVALID_TOKEN, MAIL_NOT_CONFIGURED, TOO_MANY_TRIES } = UserErrors;
/** A link that is not good, with the way to a new one. */
const linkErrorPage = (platform: Platform, request: Request, error: LegateError): Response =>
  errorPage(platform, request, error, { label: textsFor(request).errors.newLink, path: '/account/magic-link' });
const HTML = { mediaTypes: ['text/html'] } as const;
/** A browser that is signed in to the account keeps what was set up there before its address was verified. */
const proving = async (platform: Platform, call: Call<unknown, unknown, unknown>): Promise<SignInDevice> => ({
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
      'The same answer whether there is an account or not. The link is good once and for 5 minutes, and leads to callbackURL in the end.',
    access: 'public',
    rateLimit: 'magicLink',
    body: AskForMail,
    responses: { 200: Done },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      await sendMagicLink(platform, call.body, languageOf(call.request));
      return DONE;
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/magic-link/verify',
    summary: 'The page behind the link: one button',
    description:
      'Looking at it signs nobody in and uses nothing up, so programs that look at every link in a mail do no harm.',
    access: 'public',
    page: true,
    query: LinkQuery,
    responses: { 200: HTML, 401: HTML },
    handle: async ({ query: { token }, request }, platform) => {
      const found = await peekMagicLink(platform, token);
      if (!found) return linkErrorPage(platform, request, INVALID_TOKEN());
      return confirmPage(
        platform,
        request,
        textsFor(request).magicLink,
        token,
        targetsBehind(platform, found.callbackUrl),
      );
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/magic-link/verify',
    summary: 'Sign in with the token of a mail',
    description:
      'JSON is answered with JSON; the form of the page with the session cookie and 303 to callbackURL, or a page.',
    access: 'public',
    rateLimit: 'magicLinkVerify',
    page: true,
    form: true,
    body: UseLink,
    responses: { 200: SignInAnswer, 303: null },
    errors: [INVALID_TOKEN, SessionErrors.SESSION_LIMIT_REACHED],
    handle: async (call, platform) => {
      const { request } = call;
      const fromPage = isForm(request.headers.get('content-type'));
      try {
        const { result, callbackUrl } = await useMagicLink(platform, call.body.token, await proving(platform, call));
        if (!fromPage) return answerSignIn(platform, result);
        if ('twoFactorRequired' in result) return toSecondStep(platform, result.twoFactorToken, callbackUrl);
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
      'The same answer whether there is an account or not. The code is good once, for 5 minutes and three tries; the one that this browser asked for before ends. A mailbox is sent at most five codes an hour. The requestToken binds the code to this request.',
    access: 'public',
    rateLimit: 'emailOtp',
    body: SendCode,
    responses: { 200: CodeSent },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      const { request } = call;
      const earlier = readRequestCookie(platform, request);
      const requestToken = await sendEmailCode(platform, call.body.email, languageOf(request), earlier);
      return { status: 200, body: { status: true, requestToken }, cookies: [requestCookie(platform, requestToken)] };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/email-otp/verify',
    summary: 'Sign in with the code of a mail',
    description:
      'By the browser that asked for the code, or with its requestToken, the code is out of reach of the guesses of others. Ten wrong codes in a row, of whatever requests, are followed by a pause.',
    access: 'public',
    rateLimit: 'emailOtpVerify',
    body: VerifyCode,
    responses: { 200: SignInAnswer },
    errors: [INVALID_CODE, TOO_MANY_TRIES, SessionErrors.SESSION_LIMIT_REACHED],
    handle: async (call, platform) =>
      answerSignIn(
        platform,
        await useEmailCode(
          platform,
          call.body,
          call.body.requestToken ?? readRequestCookie(platform, call.request),
          await proving(platform, call),
        ),
      ),
  }),
];
