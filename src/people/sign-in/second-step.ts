import { readCookie, serviceCookie, serviceCookieName } from '../../access/session-cookie.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';

/** Time that a person has for the second step of a sign-in. */
export const SECOND_STEP_MS = 10 * MINUTE_MS;

/** Cookie in which the token of a first step waits, where pages lead from one to the other. */
const NAME = 'second_step';

/** Set-Cookie value. */
export const secondStepCookie = ({ baseUrl, config }: Platform, twoFactorToken: string): string =>
  serviceCookie(baseUrl, config.service.name, NAME, twoFactorToken, SECOND_STEP_MS / SECOND_MS);

export const secondStepToken = ({ baseUrl, config }: Platform, { headers }: Request): string | undefined =>
  readCookie(headers.get('cookie'), serviceCookieName(baseUrl, config.service.name, NAME));

/** Set-Cookie value that takes it away. */
export const endSecondStep = ({ baseUrl, config }: Platform): string =>
  serviceCookie(baseUrl, config.service.name, NAME, '', 0);
