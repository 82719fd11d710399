import { defineErrors } from '../../../kernel/errors.ts';

export const SecondFactorErrors = defineErrors({
  TOTP_NOT_SET_UP: [409, 'There is no second factor. POST /totp/enable begins it.'],
  TOTP_ALREADY_ENABLED: [409, 'The second factor is on already. POST /totp/disable ends it.'],
});
