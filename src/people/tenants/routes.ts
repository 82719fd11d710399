import { z } from 'zod';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { deleteTenant, updateTenant } from './change-tenant.ts';
import { createTenant } from './create-tenant.ts';
import { TenantErrors } from './errors.ts';
import { CreateTenant, Tenant, UpdateTenant } from './schema.ts';
import { getTenantRow, listTenants, toTenant } from './store.ts';

const { TENANT_NOT_FOUND, TENANT_IN_USE, SLUG_IN_USE } = TenantErrors;

export const tenantRoutes = [
  defineRoute({
    method: 'POST',
    path: '/tenants',
    summary: 'Create a tenant',
    access: 'admin',
    versioned: true,
    body: CreateTenant,
    responses: { 201: Tenant },
    errors: [SLUG_IN_USE],
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
    versioned: true,
    params: idParams('tenant'),
    responses: { 200: Tenant },
    errors: [TENANT_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toTenant(await getTenantRow(platform.database.read, call.params.id)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/tenants/:id',
    summary: 'Change name or slug of a tenant',
    access: 'admin',
    versioned: true,
    params: idParams('tenant'),
    body: UpdateTenant,
    responses: { 200: Tenant },
    errors: [TENANT_NOT_FOUND, SLUG_IN_USE],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateTenant(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/tenants/:id',
    summary: 'Delete a tenant to which nobody belongs',
    access: 'admin',
    versioned: true,
    params: idParams('tenant'),
    responses: { 204: null },
    errors: [TENANT_NOT_FOUND, TENANT_IN_USE],
    handle: async (call, platform) => {
      await deleteTenant(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
