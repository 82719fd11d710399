import { CommonErrors } from '../kernel/errors.ts';
import type { Platform } from '../platform.ts';

/**
 * A change that a browser may have been made to send (its cookie is sent unasked) must come from a page of ours. Throws 403.
 * What the browser says of where it comes from is looked at in the order of its worth: Origin (RFC 6454); Sec-Fetch-Site (Fetch
 * Metadata) where that is missing or `null`, as browsers send it under `Referrer-Policy: no-referrer`; Referer where both are
 * missing. A request that says nothing of all this is refused as well: a program sends its token as Bearer.
 */
export function assertAllowedOrigin(platform: Platform, request: Request): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (origin !== null && origin !== 'null') {
    if (isAllowed(platform, origin)) return;
  } else if (site !== null) {
    if (site === 'same-origin') return;
  } else if (origin === null && isAllowed(platform, originOf(request.headers.get('referer')))) return;
  throw CommonErrors.FORBIDDEN({ message: 'A request with a session cookie must come from an allowed origin.' });
}

const isAllowed = (platform: Platform, origin: string | undefined): boolean =>
  origin !== undefined &&
  (origin === new URL(platform.baseUrl).origin || platform.config.http.trustedOrigins.includes(origin));

function originOf(address: string | null): string | undefined {
  if (address === null || !URL.canParse(address)) return undefined;
  return new URL(address).origin;
}
