import { defineErrors, type LegateError } from '../kernel/errors.ts';

/** What the OAuth endpoints answer (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707, section 2). On the wire: the name in lower case, without `OAUTH_`. */
export const OAuthErrors = defineErrors({
  OAUTH_INVALID_REQUEST: [400, 'The request is not valid.'],
  OAUTH_INVALID_CLIENT: [401, 'The client is not known, or did not prove itself.'],
  OAUTH_INVALID_GRANT: [
    400,
    'The code or token is not valid, has expired, was revoked or was issued to another client.',
  ],
  OAUTH_UNAUTHORIZED_CLIENT: [400, 'The client may not use this grant type.'],
  OAUTH_UNSUPPORTED_GRANT_TYPE: [400, 'This grant type is not supported.'],
  OAUTH_UNSUPPORTED_RESPONSE_TYPE: [400, 'Only response_type=code is supported.'],
  OAUTH_INVALID_SCOPE: [400, 'A scope is not known, or more than may be granted.'],
  OAUTH_INVALID_TARGET: [400, 'The resource is not known here.'],
  OAUTH_ACCESS_DENIED: [403, 'The request was denied.'],
  OAUTH_INVALID_TOKEN: [401, 'The access token is not valid.'],
  OAUTH_INVALID_REDIRECT_URI: [400, 'A redirect URI is not valid.'],
  OAUTH_INVALID_CLIENT_METADATA: [400, 'The client metadata is not valid.'],
  OAUTH_TEMPORARILY_UNAVAILABLE: [503, 'The metadata of the client cannot be read at this moment. Try again.'],
});

/** Errors of our own endpoints beside them. */
export const ClientErrors = defineErrors({
  CLIENT_NOT_FOUND: [404, 'No such client.'],
  GRANT_NOT_FOUND: [404, 'No such grant.'],
  AUTHORIZATION_REQUEST_INVALID: [400, 'The application that sent you here made a request that cannot be answered.'],
  CONSENT_TOKEN_INVALID: [403, 'consentToken is missing, has expired, or belongs to another session or request.'],
  CONSENT_ALREADY_GIVEN: [409, 'This request has already been answered. Start again from the application.'],
});

const ON_THE_WIRE: Readonly<Record<string, string>> = {
  VALIDATION_FAILED: 'invalid_request',
  PAYLOAD_TOO_LARGE: 'invalid_request',
  UNSUPPORTED_MEDIA_TYPE: 'invalid_request',
  METHOD_NOT_ALLOWED: 'invalid_request',
  UNAUTHORIZED: 'invalid_token',
  FORBIDDEN: 'access_denied',
  STORAGE_UNAVAILABLE: 'temporarily_unavailable',
  AUDIT_UNAVAILABLE: 'temporarily_unavailable',
};

/** The `error` code of RFC 6749 for an error of ours. */
export const wireName = (error: LegateError): string =>
  error.code.startsWith('OAUTH_')
    ? error.code.slice(6).toLowerCase()
    : (ON_THE_WIRE[error.code] ?? (error.status >= 500 ? 'server_error' : 'invalid_request'));

/** Body of an OAuth error (RFC 6749, section 5.2): the description in the characters that it allows. */
export const oauthFailure = (error: LegateError): { error: string; error_description: string } => ({
  error: wireName(error),
  error_description: error.message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' '),
});
