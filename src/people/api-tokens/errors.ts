import { defineErrors } from '../../kernel/errors.ts';

export const ApiTokenErrors = defineErrors({
  API_TOKEN_NOT_FOUND: [404, 'No such API token.'],
  EXPIRES_AT_IN_PAST: [422, 'expiresAt must be in the future.'],
});
