import { MINUTE_MS } from '../../kernel/clock.ts';
import { pathOf, safeReturnTo, seeOther } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { browserCookie } from './browser-cookie.ts';

/** Time that a user has for the second step of a sign-in. */
export const SECOND_STEP_MS = 10 * MINUTE_MS;

/** Keeps the token of the first step while pages lead to the second. */
export const secondStepCookie = browserCookie('second_step', SECOND_STEP_MS);

/**
 * Redirects to the second-factor page, with `callbackUrl` as its `returnTo` if it is a page of this origin. For other
 * origins, the page takes it from the first step, since an address in a query is not trusted.
 */
export function redirectToSecondStep(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  twoFactorToken: string,
  callbackUrl: string | undefined,
): Response {
  const url = callbackUrl === undefined ? undefined : new URL(callbackUrl);
  const returnTo =
    url?.origin === new URL(platform.baseUrl).origin
      ? safeReturnTo(platform, url.pathname + url.search + url.hash)
      : undefined;
  const query = returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`;
  const location = pathOf(platform, '/account/second-factor') + query;
  return seeOther(location, {}, [secondStepCookie.set(platform, twoFactorToken)]);
}
