import { defineModule } from '../platform.ts';
import { accountRoutes } from './routes.ts';

export { finish as finishOnPage, signedOut } from './sign-in-page.ts';

export const account = defineModule({
  name: 'account',
  description: 'Pages for people: signing in and up, the second step, their devices.',
  routes: accountRoutes,
});
