import { defineModule } from '../../platform.ts';
import { authzenRoutes } from './routes.ts';

export const authzen = defineModule({
  name: 'authzen',
  description: 'The same decisions in the form of AuthZEN Authorization API 1.0.',
  routes: authzenRoutes,
});
