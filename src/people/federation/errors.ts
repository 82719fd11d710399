import { defineErrors } from '../../kernel/errors.ts';

export const IssuerErrors = defineErrors({
  ISSUER_NOT_FOUND: [404, 'Issuer not found.'],
  ISSUER_IN_USE: [422, 'Another issuer has this name or address.'],
  ISSUER_LIMIT_EXCEEDED: [422, 'The limit of issuers is reached. Delete one first.'],
  ISSUER_CONFIGURED: [409, 'The issuer is part of the configuration. Change it there.'],
  SIGN_IN_EXPIRED: [400, 'The sign-in has expired, was already used, or was started in another browser. Start again.'],
  SIGN_IN_NOT_CONFIRMED: [401, 'The identity provider did not confirm who you are. Start the sign-in again.'],
  SIGN_IN_REFUSED: [403, 'You cannot sign in here with this identity. Ask an administrator for an account.'],
  IDENTITY_NOT_FOUND: [404, 'Your account has no such connection.'],
  IDENTITY_IN_USE: [409, 'This identity belongs to another account.'],
  IDENTITY_EXISTS: [409, 'Your account has a connection with this identity provider. Remove it first.'],
  LAST_WAY_IN: [409, 'This is your only way to sign in. Set a password or add a passkey first.'],
  LOGOUT_TOKEN_REFUSED: [400, 'The logout token is not valid for this service, or was already used.'],
  PROVIDER_UNAVAILABLE: [503, 'The identity provider cannot be reached right now. Try again in a minute.'],
});
