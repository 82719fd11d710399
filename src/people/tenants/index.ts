import { defineModule } from '../../platform.ts';
import { TenantErrors } from './errors.ts';
import { tenantRoutes } from './routes.ts';

/**
 * Tenants: groups of users. An agent belongs to the tenant of its owner.
 *
 * Guarantees: slugs are unique. When a user changes tenant, delegations to other owners end
 * (`authorization/delegations`).
 */
export { tenantExists } from './store.ts';

export const tenants = defineModule({
  name: 'tenants',
  description: 'Groups of users. A user can belong to one tenant; an agent belongs to the tenant of its owner.',
  routes: tenantRoutes,
  errors: TenantErrors,
});
