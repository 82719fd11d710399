import { CommonErrors } from '../kernel/errors.ts';
import type { Platform } from '../platform.ts';

/**
 * A change that a browser may have been made to send (its cookie is sent unasked) must come from a page of ours. Throws 403.
 * What the browser says of where it comes from is looked at in the order of its worth: Origin (RFC 6454); Sec-Fetch-Site (Fetch
 * Metadata) where that is missing or `null`, as browsers send it under `Referrer-Policy: no-referrer`; Referer where both are
 * missing. A request that says nothing of all this is refused as well: a program sends its token as Bearer.
 */
export function assertAllowedOrigin(platform: Platform, request: Request): void {
  if (!comesFrom(request, [new URL(platform.baseUrl).origin, ...platform.config.http.trustedOrigins]))
    throw CommonErrors.FORBIDDEN({ message: 'A request with a session cookie must come from an allowed origin.' });
}

/** Whether a browser sent this from a page of one of these origins, or of our own where it names none. */
export function comesFrom(request: Request, origins: readonly string[]): boolean {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (origin !== null && origin !== 'null') return origins.includes(origin);
  if (site !== null) return site === 'same-origin';
  const referer = originOf(request.headers.get('referer'));
  return origin === null && referer !== undefined && origins.includes(referer);
}

function originOf(address: string | null): string | undefined {
  if (address === null || !URL.canParse(address)) return undefined;
  return new URL(address).origin;
}
