import { validationFailed } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';

const MAX_CHARS = 2048;

const refused = (message: string): Error => validationFailed([{ path: 'callbackURL', message }]);

/**
 * Returns the absolute form of a callback address, which must be a path of this service or on its origin or one of
 * `http.trustedOrigins`. 400 VALIDATION_FAILED for anything else, judged as browsers parse it (WHATWG URL).
 */
export function checkCallbackUrl(
  { baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>,
  value: string | undefined,
): string | undefined {
  if (value === undefined) return undefined;
  if (value.length > MAX_CHARS) throw refused(`must be at most ${MAX_CHARS} characters`);
  const base = new URL(baseUrl).origin;
  // Browsers skip tabs and line breaks inside an address; no legitimate address has them.
  if (/[\p{Cc}\s]/u.test(value) || !URL.canParse(value, base))
    throw refused('must be an http or https address, or a path that begins with /');
  const url = new URL(value, base);
  const isPath = value.startsWith('/');
  if (!isPath && !/^https?:\/\//i.test(value))
    throw refused('must be an http or https address, or a path that begins with /');
  if (url.username !== '' || url.password !== '') throw refused('must not contain a user name');
  if (url.origin !== base && !config.http.trustedOrigins.includes(url.origin))
    throw refused('must be on a trusted origin: that of the base URL, or one of http.trustedOrigins');
  return url.href;
}

/**
 * Like {@link checkCallbackUrl}, for a link that carries a password reset token: the address must be on one of
 * `http.trustedOrigins` or be one of `users.resetPages`. On any other path of this origin, chosen by the requester,
 * the token could leak. 400 VALIDATION_FAILED.
 */
export function checkResetPage(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  value: string | undefined,
): string | undefined {
  const address = checkCallbackUrl(platform, value);
  if (address === undefined) return undefined;
  const { origin, pathname } = new URL(address);
  if (origin === new URL(platform.baseUrl).origin && !platform.config.users.resetPages.includes(pathname))
    throw refused('must be on one of http.trustedOrigins, or one of users.resetPages');
  return address;
}

/** Returns an address of this service with a query. */
export const linkTo = (
  { baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>,
  path: string,
  query: Readonly<Record<string, string>>,
): string => `${baseUrl}${config.http.restPath.replace(/\/$/, '')}${path}?${new URLSearchParams(query)}`;

/** Returns the address with a further query parameter. */
export function withQuery(address: string, name: string, value: string): string {
  const url = new URL(address);
  url.searchParams.set(name, value);
  return url.href;
}
