import { defineErrors } from '../../../kernel/errors.ts';

export const BreachErrors = defineErrors({
  PASSWORD_BREACHED: [
    422,
    'This password appears in known data breaches, so attackers can guess it. Choose another one.',
  ],
  PASSWORD_CHECK_UNAVAILABLE: [
    503,
    'The password could not be checked against known data breaches. Try again in a moment.',
  ],
});
