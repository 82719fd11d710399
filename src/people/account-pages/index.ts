import { defineModule } from '../../platform.ts';
import { credentialRoutes } from './credential-routes.ts';
import { accountRoutes } from './routes.ts';

/**
 * Pages for people below `/account`, and the start page (decision 18).
 *
 * Guarantees: pages work without scripts, except adding and using passkeys; forms of other sites are refused; answers
 * do not reveal whether an account exists.
 *
 * The pages call the same use cases as the JSON endpoints. Components and texts are in `src/pages`.
 */
export const account = defineModule({
  name: 'account',
  description: 'Pages for people: sign-in, sign-up, their devices and their credentials.',
  routes: [...accountRoutes, ...credentialRoutes],
});
