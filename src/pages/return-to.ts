import { pathOf, type Site } from './site.ts';

/** Paths of the pages that other parts lead to, below http.restPath. */
const SIGN_IN = '/account/sign-in';

const MAX_CHARS = 8192;

/**
 * Where to go after signing in, when it is a path of this very origin; else undefined. Browsers read `\\` as `/` and skip tabs and
 * line breaks, so that is decided as they do: by resolving it (WHATWG URL).
 */
export function safeReturnTo(site: Site, value: string | null | undefined): string | undefined {
  if (!value?.startsWith('/') || value.length > MAX_CHARS) return undefined;
  const origin = new URL(site.baseUrl).origin;
  if (!URL.canParse(value, origin)) return undefined;
  const url = new URL(value, origin);
  const path = url.pathname + url.search + url.hash;
  return url.origin === origin && !path.startsWith('//') ? path : undefined;
}

/** The sign-in page, which leads back to where the person wanted to go. */
export function signInLocation(site: Site, from: URL): string {
  const returnTo = safeReturnTo(site, from.pathname + from.search);
  return pathOf(site, SIGN_IN) + (returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`);
}

/**
 * Where a form may lead whose answer redirects to `address`, beyond our own pages: an authorization request that somebody had to
 * sign in for may lead straight on to its redirect_uri. Whether that is one of the client's is decided there.
 */
export function targetsBehind(site: Site, address: string | undefined): string[] {
  if (address === undefined) return [];
  const url = new URL(address, site.baseUrl);
  const next = url.searchParams.get('redirect_uri');
  const own = url.origin === new URL(site.baseUrl).origin;
  return [
    ...(own ? [] : [url.href]),
    ...(own && next !== null && URL.canParse(next) && !UNSAFE.test(new URL(next).protocol) ? [next] : []),
  ];
}

const UNSAFE = /^(javascript|data|blob|about|file|view-source|filesystem):$/;
