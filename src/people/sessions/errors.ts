import { defineErrors } from '../../kernel/errors.ts';

export const SessionErrors = defineErrors({
  SESSION_NOT_FOUND: [404, 'Session not found.'],
  USER_NOT_FOUND: [404, 'User not found.'],
  REAUTHENTICATION_REQUIRED: [
    403,
    'This action needs a second factor used within the last 15 minutes. Send a code to POST /totp/verify with ' +
      'this session, then repeat the request.',
  ],
  SESSION_LIMIT_REACHED: [429, 'You have reached the limit of signed-in devices. Sign out on one of them first.'],
});
