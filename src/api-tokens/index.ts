import { defineModule } from '../platform.ts';
import { apiToken } from './credential.ts';

export const apiTokens = defineModule({
  name: 'api-tokens',
  description: 'Tokens with which a backend or a script acts for a user.',
  credentials: [apiToken],
});
