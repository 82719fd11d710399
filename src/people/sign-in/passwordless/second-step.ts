import { pathOf, safeReturnTo, seeOther } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { secondStepCookie } from '../../users/index.ts';

/** On to the page that asks for the second factor, and from there to `callbackUrl` when that is a page of this origin. */
export function toSecondStep(platform: Platform, twoFactorToken: string, callbackUrl: string | undefined): Response {
  const url = callbackUrl === undefined ? undefined : new URL(callbackUrl);
  const returnTo =
    url?.origin === new URL(platform.baseUrl).origin
      ? safeReturnTo(platform, url.pathname + url.search + url.hash)
      : undefined;
  const query = returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`;
  return seeOther(pathOf(platform, '/account/second-factor') + query, {}, [secondStepCookie(platform, twoFactorToken)]);
}
