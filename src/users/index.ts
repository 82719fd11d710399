import { defineModule } from '../platform.ts';
import { UserErrors } from './errors.ts';
import { userRoutes } from './routes.ts';
import { setupRoutes } from './setup-routes.ts';

export { createUser } from './create-user.ts';
export { deleteUser } from './delete-user.ts';
export { ensureFirstAdmin, type FirstAdmin } from './ensure-first-admin.ts';
export { UserErrors } from './errors.ts';
export { getUser, listUsers } from './list-users.ts';
export { SignIn, SignUp, UpdateUser, User } from './schema.ts';
export { createSetupLink } from './setup-link.ts';
export { signIn } from './sign-in.ts';
export { signUp } from './sign-up.ts';
export { ensureExternalUser, findUser, findUserByEmail } from './store.ts';
export { updateUser } from './update-user.ts';

export const users = defineModule({
  name: 'users',
  description: 'People: accounts, signing in and out, the first administrator.',
  routes: [...userRoutes, ...setupRoutes],
  errors: UserErrors,
});
