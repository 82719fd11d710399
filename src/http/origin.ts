import { CommonErrors } from '../kernel/errors.ts';
import type { Site } from '../pages/index.ts';

/**
 * Throws 403 unless a change by cookie comes from an allowed origin, because browsers send cookies with requests of
 * other sites too. Checks Origin (RFC 6454); if it is missing or `null`, as browsers send it under `Referrer-Policy:
 * no-referrer`, Sec-Fetch-Site (Fetch Metadata); and if both are missing, Referer. A request without any of them is
 * refused: programs send their token as Bearer token.
 */
export function assertAllowedOrigin(site: Site, request: Request): void {
  if (!comesFrom(request, [new URL(site.baseUrl).origin, ...site.config.http.trustedOrigins]))
    throw CommonErrors.FORBIDDEN({ message: 'A request with a session cookie must come from an allowed origin.' });
}

/**
 * Whether a browser sent this from a page of one of these origins or, without a named origin, of the service itself.
 */
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
