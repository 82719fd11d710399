import { validationFailed } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';

const MAX_CHARS = 2048;

const refused = (message: string): Error => validationFailed([{ path: 'callbackURL', message }]);

/**
 * Where a link leads in the end: an address on the origin of the base URL or on one of `http.trustedOrigins`, or a path of our own.
 * Given back absolute. 400 VALIDATION_FAILED for anything else, decided on the address as browsers read it (WHATWG URL).
 */
export function checkCallbackUrl({ baseUrl, config }: Platform, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.length > MAX_CHARS) throw refused(`must be at most ${MAX_CHARS} characters`);
  const base = new URL(baseUrl).origin;
  // Browsers skip tabs and line breaks inside an address; nobody means them.
  if (/[\p{Cc}\s]/u.test(value) || !URL.canParse(value, base))
    throw refused('must be an http or https address, or a path that begins with /');
  const url = new URL(value, base);
  const isPath = value.startsWith('/');
  if (!isPath && !/^https?:\/\//i.test(value))
    throw refused('must be an http or https address, or a path that begins with /');
  if (url.username !== '' || url.password !== '') throw refused('must not contain a user name');
  if (url.origin !== base && !config.http.trustedOrigins.includes(url.origin))
    throw refused('must be on an origin that is trusted here: that of the base URL, or one of http.trustedOrigins');
  return url.href;
}

/**
 * Where a link may lead that carries a token which sets a password: a page on one of `http.trustedOrigins`, or one of
 * `users.resetPages`. Any other path of our own origin was chosen by the asker and would be handed the token. 400 VALIDATION_FAILED.
 */
export function checkResetPage(platform: Platform, value: string | undefined): string | undefined {
  const address = checkCallbackUrl(platform, value);
  if (address === undefined) return undefined;
  const { origin, pathname } = new URL(address);
  if (origin === new URL(platform.baseUrl).origin && !platform.config.users.resetPages.includes(pathname))
    throw refused('must be on one of http.trustedOrigins, or one of users.resetPages');
  return address;
}

/** An address of ours, with a query. */
export const linkTo = ({ baseUrl, config }: Platform, path: string, query: Readonly<Record<string, string>>): string =>
  `${baseUrl}${config.http.restPath.replace(/\/$/, '')}${path}?${new URLSearchParams(query)}`;

/** The address with a further value in its query. */
export function withQuery(address: string, name: string, value: string): string {
  const url = new URL(address);
  url.searchParams.set(name, value);
  return url.href;
}
