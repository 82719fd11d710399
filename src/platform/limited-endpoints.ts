/**
 * Endpoints with their own limit per client address: requests, and length of the sliding window in seconds
 * (specification 8.1; `registration`: contract 11).
 */
export const LIMITED_ENDPOINTS = {
  signIn: { limit: 10, window: 60, what: 'POST /sign-in' },
  signUp: { limit: 5, window: 60, what: 'POST /sign-up' },
  magicLink: { limit: 3, window: 60, what: 'POST /magic-link' },
  emailOtp: { limit: 5, window: 60, what: 'POST /email-otp' },
  totpVerify: { limit: 10, window: 60, what: 'POST /totp/verify' },
  passwordForgot: { limit: 20, window: 60, what: 'POST /password/forgot' },
  verifyEmail: { limit: 20, window: 60, what: 'POST /verify-email/send' },
  emailOtpVerify: { limit: 100, window: 60, what: 'POST /email-otp/verify' },
  magicLinkVerify: { limit: 100, window: 60, what: 'POST /magic-link/verify' },
  providerLogout: { limit: 1000, window: 60, what: 'the endpoints of logouts by an identity provider' },
  providerSignIn: { limit: 100, window: 60, what: 'the endpoints of sign-ins with an identity provider' },
  passkey: { limit: 100, window: 60, what: 'the endpoints that add passkeys or sign in with them' },
  passwordCheck: { limit: 20, window: 60, what: 'the endpoints that ask for the password of a session' },
  token: { limit: 20, window: 60, what: 'the OAuth token endpoint, on any of its paths' },
  deviceAuthorization: { limit: 60, window: 60, what: 'POST /oauth/device_authorization, on any of its paths' },
  authorization: { limit: 300, window: 60, what: 'the OAuth authorization endpoint and its consent page' },
  revocation: { limit: 300, window: 60, what: 'POST /oauth/revoke, on any of its paths' },
  introspection: { limit: 3000, window: 60, what: 'POST /oauth/introspect, on any of its paths' },
  preview: { limit: 60, window: 60, what: 'endpoints with `preview=true`', per: 'caller' },
  registration: { limit: 60, window: 60, what: 'dynamic client registration' },
} as const;

export type LimitedEndpoint = keyof typeof LIMITED_ENDPOINTS;
