import { CommonErrors } from '../lib/error.ts';
import type { Platform } from '../platform.ts';

/**
 * A change that a browser may have been made to send (its cookie is sent unasked) must come from a page of ours. Throws 403.
 * `Origin: null`, which browsers send under `Referrer-Policy: no-referrer`, counts when Sec-Fetch-Site says same-origin.
 */
export function assertAllowedOrigin(platform: Platform, request: Request): void {
  const origin = request.headers.get('origin');
  if (origin !== null && origin !== 'null') {
    if (origin === new URL(platform.baseUrl).origin || platform.config.http.trustedOrigins.includes(origin)) return;
  } else if (request.headers.get('sec-fetch-site') === 'same-origin') return;
  throw CommonErrors.FORBIDDEN({ message: 'A request with a session cookie must come from an allowed origin.' });
}
