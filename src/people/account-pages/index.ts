import { defineModule } from '../../platform.ts';
import { credentialRoutes } from './credential-routes.ts';
import { accountRoutes } from './routes.ts';

export const account = defineModule({
  name: 'account',
  description: 'Pages for people: sign-in, sign-up, their devices and their credentials.',
  routes: [...accountRoutes, ...credentialRoutes],
});
