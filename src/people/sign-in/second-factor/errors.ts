import { defineErrors } from '../../../kernel/errors.ts';

export const SecondFactorErrors = defineErrors({
  TOTP_NOT_SET_UP: [409, 'There is no second factor. Set one up with POST /totp/enable.'],
  TOTP_ALREADY_ENABLED: [409, 'The second factor is already on. POST /totp/disable switches it off.'],
});
