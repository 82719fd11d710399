import { defineErrors } from '../../kernel/errors.ts';

export const UserErrors = defineErrors({
  INVALID_EMAIL_OR_PASSWORD: [401, 'The e-mail address or the password is not right.'],
  INVALID_PASSWORD: [401, 'The password is not right.'],
  INVALID_CODE: [401, 'The code is not right, was used already, or came too late.'],
  INVALID_TOKEN: [401, 'This link is not valid, was used, or is too old.'],
  EMAIL_NOT_VERIFIED: [
    403,
    'The e-mail address has to be verified first. POST /verify-email/send sends the link again.',
  ],
  SIGN_UP_CLOSED: [403, 'Accounts are made by an administrator here.'],
  INVITE_REQUIRED: [403, 'Accounts are made by invitation here: the link in the mail leads on.'],
  INVITE_INVALID: [
    403,
    'This invitation is not valid, was accepted or withdrawn, is older than 7 days, or is for another e-mail address.',
  ],
  INVITE_NOT_FOUND: [404, 'No such invitation.'],
  USER_NOT_FOUND: [404, 'No such user.'],
  LAST_ADMIN: [409, 'This is the last administrator. Make another one first.'],
  INVITES_CLOSED: [409, 'Sign-up is closed, so nobody could accept an invitation. Set users.signUp to invite.'],
  SETUP_LINK_INVALID: [
    410,
    'This set-up link is not valid, was used, or is older than 15 minutes. A restart prints a new one while there is no user yet.',
  ],
  EMAIL_IN_USE: [422, 'There is an account with this e-mail address already.'],
  TENANT_UNKNOWN: [422, 'tenantId names no known tenant.'],
  PASSWORD_TOO_COMMON: [
    422,
    'This password is one of the most common ones, which are tried first. Choose another one.',
  ],
  PASSWORD_TOO_PERSONAL: [
    422,
    'This password is little more than the name of the service or the e-mail address. Choose another one.',
  ],
  PASSWORD_REJECTED: [422, 'This password is not accepted. Choose another one.'],
  MAIL_NOT_CONFIGURED: [503, 'Mail is not set up here, so this is not available.'],
  TOO_MANY_TRIES: [429, 'Too many wrong attempts. Wait, or sign in another way.'],
  PASSWORD_CHECKS_BUSY: [503, 'Too many passwords are being checked at once. Try again in a moment.'],
});
