import { defineErrors } from '../../kernel/errors.ts';

export const TenantErrors = defineErrors({
  TENANT_NOT_FOUND: [404, 'Tenant not found.'],
  SLUG_IN_USE: [422, 'Another tenant has this slug.'],
});
