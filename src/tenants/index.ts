import { defineModule } from '../platform.ts';
import { TenantErrors } from './errors.ts';
import { tenantRoutes } from './routes.ts';

export { createTenant } from './create-tenant.ts';
export { TenantErrors } from './errors.ts';
export { CreateTenant, Tenant } from './schema.ts';
export { getTenant, listTenants, tenantExists } from './store.ts';

export const tenants = defineModule({
  name: 'tenants',
  description: 'Groups of users. A user may belong to one; an agent belongs to that of its owner.',
  routes: tenantRoutes,
  errors: TenantErrors,
});
