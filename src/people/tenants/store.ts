import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db, TenantRow } from '../../storage/index.ts';
import { TenantErrors } from './errors.ts';
import { isTenantId, type Tenant } from './schema.ts';

export const toTenant = (row: TenantRow): Tenant =>
  versioned({ id: row.id, name: row.name, slug: row.slug, createdAt: isoTime(row.created_at) }, row);

export async function tenantExists(db: Db, id: Id<'tenant'>): Promise<boolean> {
  return (
    isTenantId(id) &&
    (await db.selectFrom('tenants').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
  );
}

export const isSlugTaken = async (db: Db, slug: string): Promise<boolean> =>
  (await db.selectFrom('tenants').select('id').where('slug', '=', slug).executeTakeFirst()) !== undefined;

/** 404 TENANT_NOT_FOUND. */
export async function getTenantRow(db: Db, id: Id<'tenant'>): Promise<TenantRow> {
  const row = isTenantId(id)
    ? await db.selectFrom('tenants').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw TenantErrors.TENANT_NOT_FOUND();
  return row;
}

/** Returns up to `limit` tenants after the id `after`, oldest first. */
export async function listTenants(
  { database }: Pick<Platform, 'database'>,
  page: { limit: number; after: Id<'tenant'> | undefined },
): Promise<Tenant[]> {
  let query = database.read.selectFrom('tenants').selectAll();
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return (await query.orderBy('id').limit(page.limit).execute()).map(toTenant);
}
