import { defineErrors } from '../lib/error.ts';

export const UserErrors = defineErrors({
  INVALID_EMAIL_OR_PASSWORD: [401, 'The e-mail address or the password is not right.'],
  INVALID_PASSWORD: [401, 'The password is not right.'],
  INVALID_TOKEN: [401, 'This link is not valid, was used, or is too old.'],
  EMAIL_NOT_VERIFIED: [403, 'The e-mail address has to be verified first. POST /verify-email/send sends the link again.'],
  SIGN_UP_CLOSED: [403, 'Accounts are made by an administrator here.'],
  USER_NOT_FOUND: [404, 'No such user.'],
  LAST_ADMIN: [409, 'This is the last administrator. Make another one first.'],
  SETUP_LINK_INVALID: [410, 'This set-up link is not valid, was used, or is older than 15 minutes. A restart prints a new one while there is no user yet.'],
  EMAIL_IN_USE: [422, 'There is an account with this e-mail address already.'],
  TENANT_UNKNOWN: [422, 'tenantId names no known tenant.'],
  PASSWORD_REJECTED: [422, 'This password is not accepted. Choose another one.'],
  PASSWORD_CHECKS_BUSY: [503, 'Too many passwords are being checked at once. Try again in a moment.'],
});
