import { CommonErrors, LegateError, validationFailed } from '../kernel/errors.ts';
import { newRequestId } from '../kernel/ids.ts';
import { bearerChallenge } from '../kernel/protocol/bearer-challenge.ts';
import { PROTECTED_RESOURCE_PATH } from '../kernel/protocol/protected-resource.ts';
import type { Platform } from '../platform.ts';
import { isUnavailable } from '../storage/index.ts';
import { securityHeaders } from './security-headers.ts';

/** A rendered answer, independent of the source. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of this answer only. Many answers share the object `headers`. */
  readonly own?: Readonly<Record<string, string>> | undefined;
  /** Values of Set-Cookie. */
  readonly cookies?: readonly string[] | undefined;
  readonly body: string | null;
}

interface RenderedError extends Rendered {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

/** Renders an error from before the pipeline. */
export function renderError(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'clock' | 'issuer' | 'log'>,
  thrown: unknown,
): RenderedError {
  const requestId = newRequestId(platform.clock.now());
  const rendered = renderKnownError(platform, toKnownError(platform, thrown, requestId));
  return { ...rendered, headers: { ...rendered.headers, 'x-request-id': requestId } };
}

/** Renders an error returned by {@link toKnownError} (contract 3). */
export function renderKnownError(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'issuer'>,
  error: LegateError,
): RenderedError {
  const body = error.toBody();
  const authenticate = challengeOf(platform, error);
  if (error.status === 401 && error.details?.['error'] === 'invalid_token') delete body.error.details;
  return {
    status: error.status,
    // Specification 7 requires this exact media type for a 429.
    headers: {
      ...JSON_HEADERS,
      ...securityHeaders(platform.baseUrl),
      ...(error.status === 429 ? { 'content-type': 'application/json' } : {}),
      ...(authenticate === undefined ? {} : { 'www-authenticate': authenticate }),
      ...error.headers,
    },
    body: JSON.stringify(body),
  };
}

/** 400 for a request whose target and Host are not a valid URL. */
export const badAddress = (): LegateError =>
  validationFailed([{ path: '', message: 'the address or the Host of the request is not valid' }]);

/** Converts any error to one with an answer. Logs the details that the caller must not see. */
export function toKnownError(
  platform: Pick<Platform, 'clock' | 'log'>,
  thrown: unknown,
  requestId?: string,
): LegateError {
  if (thrown instanceof LegateError && !isWithoutId(thrown)) {
    const { code, status, reason, context, cause } = thrown;
    // 501 is a decision of the service, not its failure.
    if (status < 500 || status === 501) logRefusal(platform, thrown, requestId);
    else platform.log.error({ code, reason, requestId, ...context, err: cause }, thrown.message);
    return thrown;
  }
  if (isUnavailable(thrown)) {
    platform.log.error({ requestId, err: thrown }, 'the database cannot serve this request');
    return CommonErrors.STORAGE_UNAVAILABLE({ cause: thrown });
  }
  const id = requestId ?? newRequestId(platform.clock.now());
  const known = thrown instanceof LegateError ? thrown : undefined;
  platform.log.error({ err: known?.cause ?? thrown, errorId: id }, 'unexpected error');
  return CommonErrors.INTERNAL_ERROR({ details: { id }, ...(known && { message: known.message }) });
}

/** An unexpected error with a message for the caller. Its id is that of the request (contract 3). */
const isWithoutId = ({ code, details }: LegateError): boolean =>
  code === CommonErrors.INTERNAL_ERROR.code && details === undefined;

/**
 * Logs why a request was refused, if the error has a reason. For handlers that answer a refusal with a page; thrown
 * refusals are logged by the pipeline.
 */
export function logRefusal(
  { log, clock }: Pick<Platform, 'log' | 'clock'>,
  { code, status, reason, context }: LegateError,
  requestId = newRequestId(clock.now()),
): void {
  if (reason !== undefined) log.info({ requestId, code, status, reason, ...context }, 'refused');
}

/** Returns the challenge of a 401, or of a 403 for a missing scope (MCP 2026-07-28, authorization, scope challenge). */
function challengeOf(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'issuer'>,
  error: LegateError,
): string | undefined {
  const { issuer, audience: resource, baseUrl } = platform;
  const place = { issuer, resource, resourceMetadata: baseUrl + PROTECTED_RESOURCE_PATH };
  if (error.status === 401) {
    const invalid = error.details?.['error'] === 'invalid_token';
    return bearerChallenge({
      ...place,
      ...(invalid ? { error: 'invalid_token', errorDescription: error.message } : {}),
    });
  }
  const scope = error.status === 403 ? error.details?.['scope'] : undefined;
  return typeof scope === 'string'
    ? bearerChallenge({ ...place, error: 'insufficient_scope', scope: [scope] })
    : undefined;
}
