import { readCookie, serviceCookie, serviceCookieName } from '../../../access/session-cookie.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import type { Platform } from '../../../platform.ts';
import { CODE_LIFETIME_MS } from './email-code.ts';

const NAME = 'email_code';

export const requestCookie = ({ baseUrl, config }: Platform, requestToken: string): string =>
  serviceCookie(baseUrl, config.service.name, NAME, requestToken, CODE_LIFETIME_MS / SECOND_MS);

export const readRequestCookie = ({ baseUrl, config }: Platform, { headers }: Request): string | undefined =>
  readCookie(headers.get('cookie'), serviceCookieName(baseUrl, config.service.name, NAME));
