import { defineErrors } from '../../kernel/errors.ts';

export const UserErrors = defineErrors({
  INVALID_EMAIL_OR_PASSWORD: [401, 'The e-mail address or the password is wrong.'],
  INVALID_PASSWORD: [401, 'The password is wrong.'],
  INVALID_CODE: [401, 'The code is wrong, already used, or expired.'],
  INVALID_TOKEN: [401, 'This link is invalid, already used, or expired. Request a new one.'],
  EMAIL_NOT_VERIFIED: [403, 'The e-mail address must be verified first. POST /verify-email/send sends a new link.'],
  PASSWORDS_OFF: [403, 'Sign-in with a password is switched off. Sign in another way.'],
  SIGN_UP_CLOSED: [403, 'Sign-up is closed. Ask an administrator for an account.'],
  INVITE_REQUIRED: [403, 'Sign-up needs an invitation. Use the link in the invitation mail.'],
  INVITE_INVALID: [
    403,
    'This invitation is invalid, already accepted, withdrawn, older than 7 days, or for another e-mail address.',
  ],
  INVITE_NOT_FOUND: [404, 'Invitation not found.'],
  USER_NOT_FOUND: [404, 'User not found.'],
  LAST_ADMIN: [409, 'This is the last administrator. Make another user an administrator first.'],
  INVITES_CLOSED: [409, 'Sign-up is closed, so nobody could accept an invitation. Set users.signUp to invite.'],
  SETUP_LINK_INVALID: [
    410,
    'This set-up link is invalid, already used, or older than 15 minutes. Restart the service to get a new one, ' +
      'as long as there is no user yet.',
  ],
  EMAIL_IN_USE: [422, 'An account with this e-mail address already exists.'],
  TENANT_UNKNOWN: [422, 'There is no tenant with this tenantId.'],
  PASSWORD_TOO_COMMON: [
    422,
    'This is one of the most common passwords, which attackers try first. Choose another one.',
  ],
  PASSWORD_TOO_PERSONAL: [
    422,
    'This password consists mostly of the name of the service or the e-mail address. Choose another one.',
  ],
  PASSWORD_REJECTED: [422, 'This password is not accepted. Choose another one.'],
  MAIL_NOT_CONFIGURED: [503, 'This needs mail, which is not configured. Set mail.url.'],
  TOO_MANY_TRIES: [429, 'Too many wrong attempts. Wait, or sign in another way.'],
  PASSWORD_CHECKS_BUSY: [503, 'Too many passwords are being checked at once. Try again in a moment.'],
});
