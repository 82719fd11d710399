import { CommonErrors, LegateError, validationFailed } from '../lib/error.ts';
import { newId } from '../lib/ids.ts';
import type { Platform } from '../platform.ts';
import { isUnavailable } from '../storage/index.ts';

export interface Rendered {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Any error as an answer (contract 3). What is not one of ours is a 500 whose id is also in the log, and nothing else. */
export function renderError(platform: Platform, thrown: unknown): Rendered {
  const error = toKnownError(platform, thrown);
  const body = error.toBody();
  const invalidToken = error.status === 401 && error.details?.['error'] === 'invalid_token';
  if (invalidToken) delete body.error.details;
  return {
    status: error.status,
    // Specification 7 gives the media type of a 429 to the letter.
    headers: {
      ...JSON_HEADERS,
      ...(error.status === 429 ? { 'content-type': 'application/json' } : {}),
      ...(error.status === 401 ? { 'www-authenticate': challenge(platform, invalidToken) } : {}),
      ...error.headers,
    },
    body: JSON.stringify(body),
  };
}

/** 400 for a request of whose target and Host no URL can be made. */
export const renderBadAddress = (platform: Platform): Rendered =>
  renderError(platform, validationFailed([{ path: '', message: 'the address or the Host of the request is not valid' }]));

/** Any error as one that has an answer; what is not for the caller goes to the log. */
export function toKnownError(platform: Platform, thrown: unknown): LegateError {
  if (thrown instanceof LegateError) {
    if (thrown.status >= 500) platform.log.error({ code: thrown.code, internal: thrown.internal, err: thrown.cause }, thrown.message);
    return thrown;
  }
  if (isUnavailable(thrown)) {
    platform.log.error({ err: thrown }, 'the database is unavailable');
    return CommonErrors.STORAGE_UNAVAILABLE({ cause: thrown });
  }
  const id = newId('request', platform.clock.now());
  platform.log.error({ err: thrown, errorId: id }, 'unexpected error');
  return CommonErrors.INTERNAL_ERROR({ details: { id } });
}

/** RFC 6750, section 3, and RFC 9728, section 5.1. */
function challenge(platform: Platform, invalidToken: boolean): string {
  const { baseUrl } = platform;
  const parts = [`issuer="${baseUrl}"`, `resource="${baseUrl}"`, `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`];
  if (invalidToken) parts.unshift('error="invalid_token"');
  return `Bearer ${parts.join(', ')}`;
}
