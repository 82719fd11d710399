import { CommonErrors } from '../kernel/errors.ts';
import type { Site } from './site.ts';

/**
 * Throws 403 FORBIDDEN when a browser sent this form from a page of another origin, trusted ones included: forms give authority, so
 * they come from our own pages. Needs no token and no cookie, so it protects the
 * forms of people who are not signed in (login CSRF) as well: every browser of today names with a form the site it comes from
 * (Sec-Fetch-Site, Fetch Metadata; on plain http, Origin, RFC 6454). What names neither is no browser, and has nobody's cookies.
 * `Origin: null`, sent under `Referrer-Policy: no-referrer` and by sandboxed frames, counts only with Sec-Fetch-Site.
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
