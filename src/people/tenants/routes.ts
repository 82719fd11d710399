import { z } from 'zod';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { createTenant } from './create-tenant.ts';
import { TenantErrors } from './errors.ts';
import { CreateTenant, Tenant } from './schema.ts';
import { getTenant, listTenants } from './store.ts';

export const tenantRoutes = [
  defineRoute({
    method: 'POST',
    path: '/tenants',
    summary: 'Create a tenant',
    access: 'admin',
    body: CreateTenant,
    responses: { 201: Tenant },
    errors: [TenantErrors.SLUG_IN_USE],
    handle: async (call, platform) => ({ status: 201, body: await createTenant(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/tenants',
    summary: 'List tenants',
    description: 'Oldest first. A Link header with rel="next" points to the next page.',
    access: 'admin',
    query: PageQuery,
    responses: { 200: z.array(Tenant) },
    handle: async ({ query: { limit, cursor }, url }, platform) => {
      const { rows, next } = cutPage(
        await listTenants(platform, { limit: limit + 1, after: afterCursor('tenant', cursor) }),
        limit,
      );
      return { status: 200, body: rows, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/tenants/:id',
    summary: 'Get a tenant',
    access: 'admin',
    params: idParams('tenant'),
    responses: { 200: Tenant },
    errors: [TenantErrors.TENANT_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await getTenant(platform, call.params.id) }),
  }),
];
