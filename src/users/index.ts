import { defineModule } from '../platform.ts';
import { UserErrors } from './errors.ts';
import { userRoutes } from './routes.ts';
import { setupRoutes } from './setup-routes.ts';

export { type UsersApi, usersApi } from './api.ts';
export { ensureFirstAdmin, type FirstAdmin } from './ensure-first-admin.ts';
export { UserErrors } from './errors.ts';
export { ensureExternalUser, findUser } from './store.ts';

export const users = defineModule({
  name: 'users',
  description: 'People: accounts, signing in and out, the first administrator.',
  routes: [...userRoutes, ...setupRoutes],
  errors: UserErrors,
});
