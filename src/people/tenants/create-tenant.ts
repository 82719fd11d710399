import type { Changer } from '../../access/caller.ts';
import { newId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { TenantRow } from '../../storage/index.ts';
import { TenantErrors } from './errors.ts';
import { type CreateTenant, MAX_SLUG_CHARS, type Tenant } from './schema.ts';
import { isSlugTaken, toTenant } from './store.ts';

/** Creates a tenant. A slug derived from the name is made unique; a given slug that is in use is 422 SLUG_IN_USE. */
export async function createTenant(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  input: CreateTenant,
): Promise<Tenant> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const id = newId('tenant', now);
    let slug = input.slug ?? slugOf(input.name);
    if (slug === '' || (await isSlugTaken(db, slug))) {
      if (input.slug !== undefined) throw TenantErrors.SLUG_IN_USE({ details: { path: 'slug' } });
      slug = `${slug || 'tenant'}-${id.slice(-10)}`;
    }
    const row: TenantRow = { id, name: input.name, slug, created_at: now };
    await db.insertInto('tenants').values(row).execute();
    const tenant = toTenant(row);
    change.emit({ type: 'tenant.created', data: { tenantId: id, name: row.name }, after: { ...tenant } });
    return tenant;
  });
}

/**
 * Derives a slug from a name: `Große Firma, Inc.` becomes `grosse-firma-inc`. Letters without an ASCII form are
 * dropped.
 */
const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_CHARS - 11)
    .replace(/^-|-$/g, '');
