import type { RefusalContext, RefusalReason } from './refusals.ts';

/** Default value of `Retry-After` in answers with 503. */
const RETRY_AFTER_S = '1';

/**
 * An error with a code, an HTTP status and a public message, declared once with `defineErrors`. `reason`, `context` and
 * `cause` go to the log and never to the caller.
 */
export class LegateError extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Record<string, unknown> | undefined;
  readonly reason: RefusalReason | undefined;
  context: RefusalContext | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(declaration: ErrorDeclaration, options: ErrorOptionsOf = {}) {
    super(options.message ?? declaration.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LegateError';
    this.code = declaration.code;
    this.status = declaration.status;
    this.details = options.details;
    this.reason = options.reason;
    this.context = options.context;
    this.headers = declaration.status === 503 ? { 'retry-after': RETRY_AFTER_S, ...options.headers } : options.headers;
  }

  /** Adds fields to the log line of the error. */
  inContext(context: RefusalContext): this {
    this.context = { ...this.context, ...context };
    return this;
  }

  toBody(): { error: { code: string; message: string; details?: Record<string, unknown> } } {
    return { error: { code: this.code, message: this.message, ...(this.details ? { details: this.details } : {}) } };
  }
}

interface ErrorOptionsOf {
  /** Replaces the declared public message. */
  message?: string;
  details?: Record<string, unknown>;
  reason?: RefusalReason;
  context?: RefusalContext;
  headers?: Record<string, string>;
  cause?: unknown;
}

export interface ErrorDeclaration {
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

/** A declared error. Call it to create the error to throw; list it in the `errors` of a route. */
export type ErrorFactory = ErrorDeclaration & ((options?: ErrorOptionsOf) => LegateError);

/** Declares errors: `{ CODE: [status, 'public message'] }`. OpenAPI and docs/errors.md are generated from these. */
export function defineErrors<T extends Record<string, readonly [status: number, message: string]>>(
  declarations: T,
): { readonly [K in keyof T]: ErrorFactory } {
  const out: Record<string, ErrorFactory> = {};
  for (const [code, [status, message]] of Object.entries(declarations)) {
    const declaration: ErrorDeclaration = { code, status, message };
    const factory = (options?: ErrorOptionsOf) => new LegateError(declaration, options);
    out[code] = Object.assign(factory, declaration);
  }
  return out as { readonly [K in keyof T]: ErrorFactory };
}

/** Errors that any route can return. */
export const CommonErrors = defineErrors({
  VALIDATION_FAILED: [400, 'The request is not valid.'],
  UNAUTHORIZED: [401, 'A valid credential is required.'],
  FORBIDDEN: [403, 'The credential does not allow this.'],
  SECOND_FACTOR_REQUIRED: [403, 'Set up a second factor first: POST /totp/enable and POST /totp/verify, or a passkey.'],
  NOT_FOUND: [404, 'No such endpoint. See /docs.'],
  METHOD_NOT_ALLOWED: [405, 'This endpoint does not support the method.'],
  PRECONDITION_FAILED: [412, 'The resource has changed since its ETag was read. Read it again.'],
  PAYLOAD_TOO_LARGE: [413, 'The request body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The content type must be application/json.'],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests. Retry-After and `details` say when to try again.'],
  INTERNAL_ERROR: [500, 'An unexpected error occurred. The log of the service has the cause.'],
  PREVIEW_TIMED_OUT: [503, 'The preview took too long and was stopped. Nothing was changed.'],
  AUDIT_UNAVAILABLE: [503, 'The decision could not be recorded, so it is not allowed. Try again.'],
  STORAGE_UNAVAILABLE: [503, 'The service cannot read or write its data at the moment. Try again.'],
});

/**
 * 401 for a credential that was sent but is not valid. The challenge then has `invalid_token` (RFC 6750, section 3.1).
 */
export const invalidCredential = (reason: RefusalReason, context?: RefusalContext): LegateError =>
  CommonErrors.UNAUTHORIZED({
    reason,
    ...(context ? { context } : {}),
    details: { error: 'invalid_token' },
    message: 'The credential is not valid, has expired or was revoked.',
  });

export interface Issue {
  path: string;
  message: string;
}

/** The caller chooses field names, so long ones are truncated in the response. */
const MAX_PATH_CHARS = 200;

/** 400 VALIDATION_FAILED that names the fields. */
export function validationFailed(found: readonly Issue[]): LegateError {
  const issues = found.map(({ path, message }) => ({ path: path.slice(0, MAX_PATH_CHARS), message }));
  const [first] = issues;
  return CommonErrors.VALIDATION_FAILED({
    details: { issues },
    ...(first ? { message: `The request is not valid: ${first.path ? `${first.path}: ` : ''}${first.message}` } : {}),
  });
}
