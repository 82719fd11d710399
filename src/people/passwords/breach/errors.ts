import { defineErrors } from '../../../kernel/errors.ts';

export const BreachErrors = defineErrors({
  PASSWORD_BREACHED: [422, 'This password is known from data breaches, so others can guess it. Choose another one.'],
  PASSWORD_CHECK_UNAVAILABLE: [
    503,
    'The password could not be compared with known data breaches. Try again in a moment.',
  ],
});
