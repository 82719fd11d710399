import { CommonErrors } from '../kernel/errors.ts';
import type { Site } from './site.ts';

/**
 * Throws 403 FORBIDDEN if a browser sent this form from a page of another origin, trusted origins included: only pages
 * of this service may send forms that grant authority.
 *
 * Needs neither token nor cookie, so it also protects the forms of users who are not signed in (login CSRF): browsers
 * send the originating site with a form (Sec-Fetch-Site, Fetch Metadata; on plain http, Origin, RFC 6454). A client
 * that sends neither is not a browser and has no cookies of a person. `Origin: null`, sent under `Referrer-Policy:
 * no-referrer` and by sandboxed frames, is accepted only with Sec-Fetch-Site.
 */
export function assertOwnForm(site: Site, request: Request): void {
  const from = request.headers.get('sec-fetch-site');
  if (from === 'same-origin' || from === 'none') return;
  const origin = request.headers.get('origin');
  if (origin === null && from === null) return;
  if (origin !== null && origin === new URL(site.baseUrl).origin) return;
  throw CommonErrors.FORBIDDEN({
    message: 'This form was sent from a page of another site.',
    details: { reason: 'CROSS_SITE_FORM' },
  });
}
