import { defineErrors } from '../../kernel/errors.ts';

export const SessionErrors = defineErrors({
  SESSION_NOT_FOUND: [404, 'No such session.'],
  USER_NOT_FOUND: [404, 'No such user.'],
  SESSION_LIMIT_REACHED: [429, 'You are signed in on as many devices as are allowed. Sign out on one of them first.'],
});
