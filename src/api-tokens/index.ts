import { defineModule } from '../platform.ts';
import { apiToken } from './credential.ts';
import { ApiTokenErrors } from './errors.ts';
import { apiTokenRoutes } from './routes.ts';

export { createApiToken } from './create-api-token.ts';
export { ApiTokenErrors } from './errors.ts';
export { listApiTokens } from './list-api-tokens.ts';
export { revokeApiToken } from './revoke-api-token.ts';
export { ApiToken, ApiTokenWithSecret, CreateApiToken } from './schema.ts';

export const apiTokens = defineModule({
  name: 'api-tokens',
  description: 'Tokens with which a backend or a script acts for a user.',
  routes: apiTokenRoutes,
  errors: ApiTokenErrors,
  credentials: [apiToken],
});
