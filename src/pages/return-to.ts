import { pathOf, type Site } from './site.ts';

/** Path of the sign-in page, relative to http.restPath. */
const SIGN_IN = '/account/sign-in';

const MAX_CHARS = 8192;

/**
 * Returns the address after sign-in if it is a path of this origin, otherwise undefined. Resolved as browsers do
 * (WHATWG URL), which treat `\\` as `/` and skip tabs and line breaks.
 */
export function safeReturnTo(site: Site, value: string | null | undefined): string | undefined {
  if (!value?.startsWith('/') || value.length > MAX_CHARS) return undefined;
  const origin = new URL(site.baseUrl).origin;
  if (!URL.canParse(value, origin)) return undefined;
  const url = new URL(value, origin);
  const path = url.pathname + url.search + url.hash;
  return url.origin === origin && !path.startsWith('//') ? path : undefined;
}

/** Returns the path of the sign-in page with a `returnTo` to the current page. */
export const signInLocation = (site: Site, from: URL): string => withReturn(site, SIGN_IN, from);

const TWO_FACTOR = '/account/two-factor';

/** Returns the path of the page that sets up a second factor, with a `returnTo` to the current page. */
export const enrolmentLocation = (site: Site, from: URL): string => withReturn(site, TWO_FACTOR, from);

function withReturn(site: Site, path: string, from: URL): string {
  const returnTo = safeReturnTo(site, from.pathname + from.search);
  return pathOf(site, path) + (returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`);
}

/**
 * Returns the addresses outside this service to which a form may redirect if its answer redirects to `address`: an
 * authorization request that needed a sign-in may redirect straight to its redirect_uri. The authorization endpoint
 * checks that the redirect_uri belongs to the client.
 */
export function redirectTargets(site: Site, address: string | undefined): string[] {
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
