import { defineErrors, type Issue, type LegateError } from '../kernel/errors.ts';

/**
 * Errors of the OAuth endpoints (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707, section 2). The
 * `error` code in a response is the name in lower case without `OAUTH_`.
 */
export const OAuthErrors = defineErrors({
  OAUTH_INVALID_REQUEST: [400, 'The request is not valid.'],
  OAUTH_INVALID_CLIENT: [401, 'The client is unknown or its authentication failed.'],
  OAUTH_INVALID_GRANT: [
    400,
    'The code or token is not valid, has expired, was revoked, or was issued to another client.',
  ],
  OAUTH_UNAUTHORIZED_CLIENT: [400, 'The client may not use this grant type.'],
  OAUTH_UNSUPPORTED_GRANT_TYPE: [400, 'This grant type is not supported.'],
  OAUTH_UNSUPPORTED_RESPONSE_TYPE: [400, 'Only response_type=code is supported.'],
  OAUTH_INVALID_SCOPE: [400, 'A requested scope is unknown or may not be granted.'],
  OAUTH_INVALID_TARGET: [400, 'The resource is not registered here.'],
  OAUTH_ACCESS_DENIED: [403, 'The request was denied.'],
  OAUTH_INVALID_TOKEN: [401, 'The access token is not valid.'],
  OAUTH_INVALID_REDIRECT_URI: [400, 'A redirect URI is not valid.'],
  OAUTH_INVALID_CLIENT_METADATA: [400, 'The client metadata is not valid.'],
  OAUTH_AUTHORIZATION_PENDING: [
    400,
    'The person has not answered the request yet. Try again after `interval` seconds.',
  ],
  OAUTH_SLOW_DOWN: [400, 'Polling too fast. Add 5 seconds to the interval for this and all further requests.'],
  OAUTH_EXPIRED_TOKEN: [400, 'The device code has expired. Start again.'],
  OAUTH_TEMPORARILY_UNAVAILABLE: [503, 'The client metadata document cannot be read right now. Try again later.'],
});

/** Errors of the endpoints that OAuth does not define. */
export const ClientErrors = defineErrors({
  CLIENT_NOT_FOUND: [404, 'Client not found.'],
  GRANT_NOT_FOUND: [404, 'Grant not found.'],
  AUTHORIZATION_REQUEST_INVALID: [400, 'The application that sent you here made an invalid request.'],
  CONSENT_TOKEN_INVALID: [403, 'consentToken is missing, has expired, or belongs to another session or request.'],
  DEVICE_ACCESS_DENIED: [400, 'The person denied the request of the device.'],
  CONSENT_ALREADY_GIVEN: [409, 'This request has already been answered. Start again from the application.'],
});

const OAUTH_CODES: Readonly<Record<string, string>> = {
  VALIDATION_FAILED: 'invalid_request',
  PAYLOAD_TOO_LARGE: 'invalid_request',
  UNSUPPORTED_MEDIA_TYPE: 'invalid_request',
  METHOD_NOT_ALLOWED: 'invalid_request',
  UNAUTHORIZED: 'invalid_token',
  FORBIDDEN: 'access_denied',
  DEVICE_ACCESS_DENIED: 'access_denied',
  STORAGE_UNAVAILABLE: 'temporarily_unavailable',
  AUDIT_UNAVAILABLE: 'temporarily_unavailable',
};

/** Parameters that name the target of a token. If malformed or repeated: `invalid_target` (RFC 8707, section 2). */
const TARGETS: readonly (string | undefined)[] = ['resource', 'audience'];

const isAboutTarget = ({ code, details }: LegateError): boolean =>
  code === 'VALIDATION_FAILED' && TARGETS.includes((details?.['issues'] as readonly Issue[] | undefined)?.[0]?.path);

/** Returns the `error` code of RFC 6749 that corresponds to an error. */
export const oauthErrorCode = (error: LegateError): string => {
  if (error.code.startsWith('OAUTH_')) return error.code.slice(6).toLowerCase();
  if (isAboutTarget(error)) return 'invalid_target';
  return OAUTH_CODES[error.code] ?? (error.status >= 500 ? 'server_error' : 'invalid_request');
};

/**
 * Returns an OAuth error body (RFC 6749, section 5.2). A description must not contain double quotes, which become
 * single ones, and some other characters, which become spaces.
 */
export const oauthErrorBody = (error: LegateError): { error: string; error_description: string } => ({
  error: oauthErrorCode(error),
  error_description: error.message.replaceAll('"', "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' '),
});
