import { defineModule } from '../../platform.ts';
import { accountRoutes } from './routes.ts';

export const account = defineModule({
  name: 'account',
  description: 'Pages for people: signing in and up, the second step, their devices.',
  routes: accountRoutes,
});
