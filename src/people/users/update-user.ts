import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { tenantExists } from '../tenants/index.ts';
import { UserErrors } from './errors.ts';
import type { UpdateUser, User } from './schema.ts';
import { assertAnotherAdmin, requireUser, toUser } from './store.ts';

/**
 * Changes role, tenant or name; for administrators. A role counts from the next call on, and the user's agents move to the new
 * tenant in the same change. 404 USER_NOT_FOUND, 409 LAST_ADMIN, 422 TENANT_UNKNOWN.
 */
export async function updateUser(platform: Platform, id: string, input: UpdateUser): Promise<User> {
  return platform.ledger.change(async (change) => {
    const { db, now } = change;
    const before = await requireUser(db, id);
    const after: UserRow = { ...before, updated_at: now };
    if (input.name !== undefined) after.name = input.name;
    if (input.role !== undefined) after.role = input.role;
    if (input.tenantId !== undefined) after.tenant_id = input.tenantId;

    const movesTenant = after.tenant_id !== before.tenant_id;
    if (movesTenant && after.tenant_id !== null && !(await tenantExists(db, after.tenant_id)))
      throw UserErrors.TENANT_UNKNOWN({ details: { path: 'tenantId' } });
    if (before.role === 'admin' && after.role !== 'admin') await assertAnotherAdmin(db, id);
    if (movesTenant || after.role !== before.role) change.invalidate();
    if (movesTenant)
      await db
        .updateTable('agents')
        .set({ tenant_id: after.tenant_id, updated_at: now, policy_epoch: change.epoch })
        .where('owner_id', '=', id)
        .execute();
    await db
      .updateTable('users')
      .set({ name: after.name, role: after.role, tenant_id: after.tenant_id, updated_at: now })
      .where('id', '=', id)
      .execute();
    return toUser(after);
  });
}
