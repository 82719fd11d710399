import { isForm } from '../../http/media-type.ts';
import { logRefusal } from '../../http/render-error.ts';
import { LegateError } from '../../kernel/errors.ts';
import { errorPage, languageOf, redirectTargets, type Site, seeOther, textsFor } from '../../pages/index.ts';
import { defineRoute } from '../../platform.ts';
import { confirmPage, donePage } from '../passwords/password-pages.ts';
import { UserErrors } from '../users/errors.ts';
import { sessionOf, wouldEndCredentials } from '../users/mark-email-verified.ts';
import { Done, LinkQuery, MailRequest, UseLink } from '../users/schema.ts';
import { findVerification, requestVerification, verifyEmail } from './verify-email.ts';

const { INVALID_TOKEN, MAIL_NOT_CONFIGURED } = UserErrors;
/** The page for an invalid link, with a link to request a new one. */
const linkErrorPage = (site: Site, request: Request, error: LegateError): Response =>
  errorPage(site, request, error, { label: textsFor(request).errors.newLink, path: '/account/verify-email' });
const HTML = { mediaTypes: ['text/html'] } as const;

export const verifyEmailRoutes = [
  defineRoute({
    method: 'POST',
    path: '/verify-email/send',
    summary: 'Mail a link that verifies an e-mail address',
    description: 'The answer is the same whether or not there is an account to verify. The link is valid for 24 hours.',
    access: 'public',
    rateLimit: 'verifyEmail',
    body: MailRequest,
    responses: { 200: Done },
    errors: [MAIL_NOT_CONFIGURED],
    handle: async (call, platform) => {
      await requestVerification(platform, call.body, languageOf(call.request));
      return { status: 200, body: { status: true } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/verify-email',
    summary: 'Confirmation page of a verification link',
    description: 'Opening the page verifies nothing; its button does.',
    access: 'public',
    page: true,
    query: LinkQuery,
    responses: { 200: HTML, 401: HTML },
    handle: async (call, platform) => {
      const { request, requestId } = call;
      const { token } = call.query;
      const found = await findVerification(platform, token);
      if (!found) {
        const error = INVALID_TOKEN({ reason: 'link-unknown' });
        logRefusal(platform, error, requestId);
        return linkErrorPage(platform, request, error);
      }
      return confirmPage(platform, request, textsFor(request).verifyEmail, token, {
        formTargets: redirectTargets(platform, found.callbackUrl),
        endsCredentials: await wouldEndCredentials(platform.database, found, await sessionOf(call)),
      });
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/verify-email',
    summary: 'Verify an e-mail address with the token of a mail',
    description: 'A form is answered with a page or with 303 to callbackURL, JSON with JSON.',
    access: 'public',
    page: true,
    form: true,
    body: UseLink,
    responses: { 200: Done, 303: null },
    errors: [INVALID_TOKEN],
    handle: async (call, platform) => {
      const { request } = call;
      const fromPage = isForm(request.headers.get('content-type'));
      try {
        const { callbackUrl, lacksPassword } = await verifyEmail(platform, call.body.token, {
          ip: call.ip,
          session: await sessionOf(call),
        });
        if (!fromPage) return { status: 200, body: { status: true } };
        return callbackUrl === undefined
          ? donePage(platform, request, textsFor(request).verifyEmail, {
              next: lacksPassword ? 'set-password' : 'sign-in',
            })
          : seeOther(callbackUrl);
      } catch (error) {
        if (!fromPage || !(error instanceof LegateError)) throw error;
        logRefusal(platform, error, call.requestId);
        return linkErrorPage(platform, request, error);
      }
    },
  }),
];
