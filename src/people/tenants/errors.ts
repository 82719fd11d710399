import { defineErrors } from '../../kernel/errors.ts';

export const TenantErrors = defineErrors({
  TENANT_NOT_FOUND: [404, 'Tenant not found.'],
  TENANT_IN_USE: [409, 'Users, open invitations or SCIM groups belong to this tenant.'],
  SLUG_IN_USE: [422, 'Another tenant has this slug.'],
});
