import { CommonErrors, type LegateError } from '../kernel/errors.ts';
import { enrolmentLocation, errorPage, seeOther, signInLocation } from '../pages/index.ts';
import type { Route } from '../platform/route.ts';
import type { Platform } from '../platform.ts';
import { isForm, isJson } from './media-type.ts';
import { type Rendered, renderKnownError, toKnownError } from './render-error.ts';
import type { Source } from './sources/source.ts';

/** Renders an error in the format of the route: JSON, that of a standard, or a page. */
export function renderFailure(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'clock' | 'config' | 'issuer' | 'log'>,
  route: Pick<Route<Platform>, 'page' | 'errorBody' | 'mediaType' | 'errors'>,
  source: Source<unknown>,
  requestId: string,
  thrown: unknown,
): Rendered | Response {
  const error = asDecisionError(route, toKnownError(platform, thrown, requestId));
  if (!route.page) return asJson(platform, error, route.errorBody, route.mediaType);
  const type = source.header('content-type');
  // People without a session are redirected to the sign-in page and back. Programs get the usual errors.
  if (error.code === CommonErrors.UNAUTHORIZED.code && source.header('authorization') === null && !isJson(type))
    return seeOther(signInLocation(platform, source.url));
  if (!isForm(type) && !source.header('accept')?.includes('text/html')) return asJson(platform, error, route.errorBody);
  return error.code === CommonErrors.SECOND_FACTOR_REQUIRED.code
    ? seeOther(enrolmentLocation(platform, source.url))
    : errorPage(platform, source.request, error);
}

/** A decision that cannot be recorded has one code (contract 3), even if storage fails while the credential is read. */
function asDecisionError({ errors }: Pick<Route<Platform>, 'errors'>, error: LegateError): LegateError {
  if (error.code !== CommonErrors.STORAGE_UNAVAILABLE.code) return error;
  return errors?.includes(CommonErrors.AUDIT_UNAVAILABLE) ? CommonErrors.AUDIT_UNAVAILABLE({ cause: error }) : error;
}

function asJson(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'issuer'>,
  error: LegateError,
  errorBody: Route<Platform>['errorBody'],
  mediaType?: string,
): Rendered {
  const rendered = renderKnownError(platform, error);
  if (!errorBody) return rendered;
  const { status, headers, body } = rendered;
  // The standard challenge is for Legate credentials. Other 401 answers of these routes have their own.
  if (error.code !== CommonErrors.UNAUTHORIZED.code && error.headers?.['www-authenticate'] === undefined)
    delete headers['www-authenticate'];
  if (mediaType !== undefined && status !== 429) headers['content-type'] = mediaType;
  return { status, headers, body: status === 429 ? body : JSON.stringify(errorBody(error)) };
}
