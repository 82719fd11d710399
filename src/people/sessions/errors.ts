import { defineErrors } from '../../kernel/errors.ts';

export const SessionErrors = defineErrors({
  SESSION_NOT_FOUND: [404, 'No such session.'],
  USER_NOT_FOUND: [404, 'No such user.'],
  REAUTHENTICATION_REQUIRED: [
    403,
    'This needs a proof of the last 15 minutes: send a code to POST /totp/verify with this session, and then repeat the request.',
  ],
  SESSION_LIMIT_REACHED: [429, 'You are signed in on as many devices as are allowed. Sign out on one of them first.'],
});
