import type { Changer } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, TenantRow } from '../../storage/index.ts';
import { TenantErrors } from './errors.ts';
import type { Tenant, UpdateTenant } from './schema.ts';
import { getTenantRow, isSlugTaken, toTenant } from './store.ts';

/** Changes name and slug. Throws 404 TENANT_NOT_FOUND, 422 SLUG_IN_USE. */
export async function updateTenant(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'tenant'>,
  input: UpdateTenant,
): Promise<Tenant> {
  return ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const row = await getTenantRow(db, id);
    caller.assertUnchanged?.(toTenant(row));
    const after: TenantRow = { ...row, name: input.name ?? row.name, slug: input.slug ?? row.slug };
    if (after.name === row.name && after.slug === row.slug) return toTenant(row);
    if (after.slug !== row.slug && (await isSlugTaken(db, after.slug)))
      throw TenantErrors.SLUG_IN_USE({ details: { path: 'slug' } });
    await db.updateTable('tenants').set({ name: after.name, slug: after.slug }).where('id', '=', id).execute();
    const data = { tenantId: row.id, name: after.name };
    change.emit({ type: 'tenant.updated', data, ...changedFields(toTenant(row), toTenant(after)) });
    return toTenant(after);
  });
}

/**
 * Deletes a tenant to which nobody belongs. Throws 404 TENANT_NOT_FOUND, 409 TENANT_IN_USE while users, open
 * invitations or SCIM groups belong to it.
 */
export async function deleteTenant(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'tenant'>,
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const row = await getTenantRow(db, id);
    caller.assertUnchanged?.(toTenant(row));
    if (await isInUse(db, row.id, now)) throw TenantErrors.TENANT_IN_USE();
    await db.deleteFrom('invites').where('tenant_id', '=', row.id).execute();
    await db.deleteFrom('tenants').where('id', '=', row.id).execute();
    change.emit({
      type: 'tenant.deleted',
      data: { tenantId: row.id, name: row.name },
      before: { ...toTenant(row) },
    });
  });
}

async function isInUse(db: Db, id: Id<'tenant'>, now: number): Promise<boolean> {
  const users = db.selectFrom('users').select('id').where('tenant_id', '=', id).limit(1);
  const invites = db.selectFrom('invites').select('id').where('tenant_id', '=', id).where('expires_at', '>', now);
  const groups = db.selectFrom('scim_groups').select('id').where('tenant_key', '=', id).limit(1);
  for (const query of [users, invites.limit(1), groups]) if (await query.executeTakeFirst()) return true;
  return false;
}
