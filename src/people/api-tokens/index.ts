import { defineModule } from '../../platform.ts';
import { apiToken } from './credential.ts';
import { ApiTokenErrors } from './errors.ts';
import { apiTokenRoutes } from './routes.ts';

/**
 * API tokens: credentials with which a backend or a script acts for a user (decision 3).
 *
 * Guarantees: only hashes are stored; a token is shown once; revoking it applies to the next request on every instance;
 * a user has at most 50.
 */
export { type ApiTokensApi, apiTokensApi } from './api.ts';
export { createApiToken } from './create-api-token.ts';
export { ApiTokenErrors } from './errors.ts';
export { listApiTokens } from './list-api-tokens.ts';
export { revokeApiToken } from './revoke-api-token.ts';
export { type ApiToken, CreateApiToken } from './schema.ts';

export const apiTokens = defineModule({
  name: 'api-tokens',
  description: 'Tokens that let a backend or a script act for a user.',
  routes: apiTokenRoutes,
  errors: ApiTokenErrors,
  credentials: [apiToken],
});
