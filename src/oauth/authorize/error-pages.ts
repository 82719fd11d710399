import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  buttonLink,
  details,
  facts,
  html,
  notice,
  page,
  pathOf,
  type Site,
  textsFor,
} from '../../pages/index.ts';
import { redirectHost } from '../clients/redirect-uri.ts';
import { APPS_PATH } from '../consent/apps-page.ts';
import { ClientErrors } from '../errors.ts';
import type { RedirectedError } from './authorization-request.ts';

/** Shows an error of an unverified client with a link to its redirect URI (RFC 9700, section 4.11.2). */
export function redirectErrorPage(site: Site, request: Request, { to, failure, location }: RedirectedError) {
  const t = textsFor(request);
  const host = redirectHost(to.redirectUri);
  const name = to.client.name ?? to.client.documentHost ?? t.consent.someone;
  const quiet = failure.error === 'login_required' || failure.error === 'consent_required';
  return page(site, request, {
    title: quiet ? t.requestError.notAllowed : t.requestError.refused,
    status: 400,
    body: html`<p>${quiet ? t.requestError.quiet(name) : t.requestError.faulty(name)}</p>${facts([
      [t.requestError.leadsTo, html`<strong>${host}</strong>`],
    ])}${notice('warning', t.requestError.unknownAddress)}${actions(
      buttonLink(t.requestError.goOn(host), location),
    )}${developerDetails(t.requestError.details, [failure.error, failure.error_description])}`,
  });
}

const WITH_PAGE: readonly string[] = [
  ClientErrors.AUTHORIZATION_REQUEST_INVALID.code,
  ClientErrors.CONSENT_TOKEN_INVALID.code,
  ClientErrors.CONSENT_ALREADY_GIVEN.code,
];

/** Returns whether the error gets an error page: a person can cause it, and the request comes from a browser. */
export const hasErrorPage = (error: LegateError, request: Request): boolean =>
  WITH_PAGE.includes(error.code) &&
  (request.method === 'POST' || (request.headers.get('accept')?.includes('text/html') ?? false));

/** Shows an error that cannot be returned to the client, with one link to continue. */
export function requestErrorPage(site: Site, request: Request, error: LegateError): Response {
  const t = textsFor(request);
  const url = new URL(request.url);
  const expired = error.code === ClientErrors.CONSENT_TOKEN_INVALID.code;
  const given = error.code === ClientErrors.CONSENT_ALREADY_GIVEN.code;
  const title = expired ? t.requestError.expired : given ? t.requestError.given : t.requestError.unanswerable;
  return page(site, request, {
    title,
    status: error.status,
    body: html`<p>${explain(t.requestError, error)}</p>${actions(
      expired
        ? buttonLink(t.requestError.openAgain, url.pathname + url.search)
        : buttonLink(t.requestError.toApps, pathOf(site, APPS_PATH)),
    )}${expired || given ? undefined : developerDetails(t.requestError.details, [error.message])}`,
  });
}

function explain(t: ReturnType<typeof textsFor>['requestError'], error: LegateError): string {
  switch (error.code) {
    case ClientErrors.CONSENT_TOKEN_INVALID.code:
      return t.expiredText;
    case ClientErrors.CONSENT_ALREADY_GIVEN.code:
      return t.givenText;
  }
  switch (error.details?.['reason']) {
    case 'UNKNOWN_CLIENT':
      return t.unknownClient;
    case 'UNREADABLE_CLIENT':
      return t.unreadableClient;
    case 'UNREGISTERED_REDIRECT_URI':
      return t.unregisteredAddress;
    default:
      return t.unanswerableText;
  }
}

const developerDetails = (title: string, lines: readonly (string | undefined)[]) =>
  details(
    title,
    lines.filter((line) => line !== undefined).map((line) => html`<p><code>${line}</code></p>`),
  );
