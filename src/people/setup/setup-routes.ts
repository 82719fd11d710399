import { z } from 'zod';
import { logRefusal } from '../../http/render-error.ts';
import { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import { errorPage } from '../../pages/index.ts';
import { defineRoute } from '../../platform.ts';
import { passwordErrors } from '../passwords/password-policy.ts';
import { startCookie } from '../sessions/index.ts';
import { answerSignIn, deviceOf } from '../sign-in/finish-sign-in.ts';
import { UserErrors } from '../users/errors.ts';
import { SetupForm, SetupInput, SignedIn } from '../users/schema.ts';
import { assertSetupLink, completeSetup } from './setup-link.ts';
import { setupDonePage, setupFormPage } from './setup-page.ts';

const { EMAIL_IN_USE, PASSWORD_CHECKS_BUSY, SETUP_LINK_INVALID } = UserErrors;
const HTML = { mediaTypes: ['text/html'] } as const;

/** The page of the link that is printed at the first start (contract, section 1). */
export const setupRoutes = [
  defineRoute({
    method: 'GET',
    path: '/setup',
    mount: 'root',
    summary: 'Page that creates the first administrator',
    access: 'public',
    page: true,
    query: z.object({ token: z.string().max(1024).default('') }),
    responses: { 200: HTML, 410: HTML },
    handle: async ({ query: { token }, request, requestId }, platform) => {
      try {
        await assertSetupLink(platform, token);
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        logRefusal(platform, error, requestId);
        return errorPage(platform, request, error);
      }
      return setupFormPage(platform, request, token);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/setup',
    mount: 'root',
    summary: 'Create the first administrator and sign in',
    description: 'Works once, with the token of the set-up link. A form is answered with a page, JSON with JSON.',
    access: 'public',
    page: true,
    body: SetupForm,
    form: true,
    responses: { 200: SignedIn },
    secrets: ['token'],
    errors: [SETUP_LINK_INVALID, EMAIL_IN_USE, PASSWORD_CHECKS_BUSY, ...passwordErrors],
    handle: async (call, platform) => {
      const fromPage = !call.request.headers.get('content-type')?.toLowerCase().startsWith('application/json');
      try {
        const { advice, ...result } = await completeSetup(platform, parseWith(SetupInput, call.body), deviceOf(call));
        if (!fromPage) return answerSignIn(platform, result, advice);
        const cookie = { ...startCookie(platform, result.token, result.rememberMe), ...advice };
        return setupDonePage(platform, call.request, result.user.email ?? '', cookie);
      } catch (error) {
        if (!fromPage || !(error instanceof LegateError)) throw error;
        logRefusal(platform, error, call.requestId);
        if (error.code === SETUP_LINK_INVALID.code) return errorPage(platform, call.request, error);
        return setupFormPage(platform, call.request, call.body.token, { error, email: call.body.email });
      }
    },
  }),
];
