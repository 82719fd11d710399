import { z } from 'zod';
import { logRefusal } from '../../../http/render-error.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { errorPage, languageOf, pathOf, safeReturnTo, seeOther, textsFor } from '../../../pages/index.ts';
import { type Call, defineRoute, type Platform } from '../../../platform.ts';
import { SessionErrors, startCookie, withRecentSignIn } from '../../sessions/index.ts';
import { redirectToSecondStep, sendNotice, signInDevice } from '../../users/index.ts';
import { connect } from '../connections.ts';
import { IssuerErrors } from '../errors.ts';
import type { Issuer } from '../schema.ts';
import { getSignInIssuer } from '../store.ts';
import { beginSignIn, type Pending, pendingCookie, readPending } from './begin-sign-in.ts';
import { completeProviderSignIn } from './complete-sign-in.ts';
import { endProviderSessions } from './provider-logout.ts';

const nameParams = z.object({ name: z.string() });
const {
  ISSUER_NOT_FOUND,
  LOGOUT_TOKEN_REFUSED,
  SIGN_IN_EXPIRED,
  SIGN_IN_NOT_CONFIRMED,
  SIGN_IN_REFUSED,
  PROVIDER_UNAVAILABLE,
} = IssuerErrors;
const SIGN_IN_PAGE = '/account/sign-in';

/** Shows errors as a page that leads back to the sign-in page, to clients that accept HTML. */
async function orErrorPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'log'>,
  { request, requestId }: Call<unknown, unknown, unknown>,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LegateError) || !request.headers.get('accept')?.includes('text/html')) throw error;
    logRefusal(platform, error, requestId);
    return errorPage(platform, request, error, { label: textsFor(request).signIn.title, path: SIGN_IN_PAGE });
  }
}

/** Completes a connection that was begun on the connections page, in a session of the same user. */
async function connectAccount(
  platform: Platform,
  call: Call<unknown, unknown, unknown>,
  issuer: Issuer,
  pending: Pending,
): Promise<Response> {
  const state = call.url.searchParams.getAll('state');
  if (state.length !== 1 || state[0] !== pending.state) throw IssuerErrors.SIGN_IN_EXPIRED();
  const { principal, actor, reauthorize } = await call.requireUser();
  const person = {
    userId: principal.userId,
    actor,
    reauthorize: withRecentSignIn(platform, { principal, reauthorize }),
  };
  const user = await connect(platform, issuer, person, pending, call.url.search);
  sendNotice(platform, user, languageOf(call.request), (texts, brand) => texts.connectionAdded(brand, issuer.name));
  const done = pathOf(platform, '/account/connections?done=added');
  return seeOther(done, {}, [pendingCookie.clear(platform)]);
}

/** Contract 23.2. */
export const signInRoutes = [
  defineRoute({
    method: 'POST',
    path: '/auth/oidc/:name/logout',
    summary: 'Logout at an identity provider',
    description:
      'Called by the provider with a logout token (OpenID Connect Back-Channel Logout 1.0). Ends the sessions that ' +
      'the token names by `sid` or, without `sid`, all sessions that the person `sub` began with this provider.',
    access: 'public',
    rateLimit: 'providerLogout',
    params: nameParams,
    body: z.object({ logout_token: z.string().max(16_384) }),
    form: 'only',
    responses: { 200: null },
    errors: [ISSUER_NOT_FOUND, LOGOUT_TOKEN_REFUSED, PROVIDER_UNAVAILABLE],
    handle: async ({ params, body }, platform) => {
      await endProviderSessions(platform, await getSignInIssuer(platform, params.name), body.logout_token);
      return { status: 200, headers: { 'cache-control': 'no-store' } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/auth/oidc/:name/start',
    summary: 'Sign in with an identity provider',
    description:
      'Redirects to the provider (OpenID Connect, authorization code flow with PKCE). After the sign-in the browser ' +
      'is redirected to `returnTo`, a path of this origin.',
    access: 'public',
    rateLimit: 'providerSignIn',
    page: true,
    params: nameParams,
    query: z.object({ returnTo: z.string().max(8192).optional() }),
    responses: { 303: null },
    errors: [ISSUER_NOT_FOUND, PROVIDER_UNAVAILABLE],
    handle: (call, platform) =>
      orErrorPage(platform, call, async () => {
        const issuer = await getSignInIssuer(platform, call.params.name);
        const { location, cookie } = await beginSignIn(platform, issuer, safeReturnTo(platform, call.query.returnTo));
        return seeOther(location, {}, [cookie]);
      }),
  }),
  defineRoute({
    method: 'GET',
    path: '/auth/oidc/:name/callback',
    summary: 'Callback of an identity provider',
    description:
      'Works once, in the browser that began the sign-in. A person without an account gets the same answer as one ' +
      'whose account is suspended.',
    access: 'public',
    rateLimit: 'providerSignIn',
    page: true,
    params: nameParams,
    responses: { 303: null },
    errors: [
      ISSUER_NOT_FOUND,
      SIGN_IN_EXPIRED,
      SIGN_IN_NOT_CONFIRMED,
      SIGN_IN_REFUSED,
      PROVIDER_UNAVAILABLE,
      SessionErrors.SESSION_LIMIT_REACHED,
      SessionErrors.REAUTHENTICATION_REQUIRED,
      IssuerErrors.IDENTITY_IN_USE,
      IssuerErrors.IDENTITY_EXISTS,
    ],
    handle: (call, platform) =>
      orErrorPage(platform, call, async () => {
        const issuer = await getSignInIssuer(platform, call.params.name);
        const pending = readPending(platform, issuer, call.request);
        if (pending?.connectTo !== undefined) return connectAccount(platform, call, issuer, pending);
        const { result, returnTo } = await completeProviderSignIn(
          platform,
          issuer,
          call.request,
          call.url.search,
          signInDevice(platform, call),
        );
        const path = returnTo ?? pathOf(platform, '/account');
        if ('twoFactorRequired' in result)
          return redirectToSecondStep(platform, result.twoFactorToken, new URL(path, platform.baseUrl).href);
        return seeOther(path, startCookie(platform, result.token, result.rememberMe), [
          ...result.cookies,
          pendingCookie.clear(platform),
        ]);
      }),
  }),
];
