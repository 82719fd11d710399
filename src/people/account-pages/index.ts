import { defineModule } from '../../platform.ts';
import { accountRoutes } from './routes.ts';

export const account = defineModule({
  name: 'account',
  description: 'Pages for people: sign-in, sign-up, the second factor and their devices.',
  routes: accountRoutes,
});
