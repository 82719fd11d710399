import { defineErrors } from '../../kernel/errors.ts';

export const ApiTokenErrors = defineErrors({
  API_TOKEN_NOT_FOUND: [404, 'API token not found.'],
  API_TOKEN_LIMIT_EXCEEDED: [422, 'You have reached the limit of 50 API tokens. Revoke one that you no longer use.'],
  EXPIRES_AT_IN_PAST: [422, 'expiresAt must be in the future.'],
});
