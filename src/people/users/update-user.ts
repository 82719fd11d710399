import type { Changer } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { type Change, changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { revokeInvitesBy } from '../invites/invites.ts';
import { endSessions } from '../sessions/index.ts';
import { tenantExists } from '../tenants/index.ts';
import { UserErrors } from './errors.ts';
import type { UpdateUser, User } from './schema.ts';
import { assertAnotherAdmin, getUserRow, searchColumns, toUser } from './store.ts';

/**
 * Changes role, tenant, name or status, for administrators. A role takes effect with the next request. When an
 * administrator loses the role or is suspended, their open invitations end. If no value differs, it emits no event and
 * keeps `updatedAt`. 404 USER_NOT_FOUND, 409 LAST_ADMIN, 422 TENANT_UNKNOWN.
 */
export async function updateUser(
  platform: Pick<Platform, 'config' | 'ledger'>,
  caller: Changer,
  id: Id<'user'>,
  input: UpdateUser,
): Promise<User> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const before = await getUserRow(db, id);
    caller.assertUnchanged?.(toUser(before));
    return updateUserIn(platform, change, before, input);
  });
}

/**
 * Does the same inside a change.
 *
 * @param more further columns and names of changed fields that the caller has written itself
 */
export async function updateUserIn(
  platform: Pick<Platform, 'config'>,
  change: Change,
  before: UserRow,
  input: UpdateUser,
  more: Partial<Pick<UserRow, 'email' | 'email_verified'>> & { readonly changed?: readonly string[] } = {},
): Promise<User> {
  const { db, now } = change;
  const { id } = before;
  const { changed = [], ...columns } = more;
  const after: UserRow = { ...before, ...columns, updated_at: now };
  if (input.name !== undefined) after.name = input.name;
  if (input.role !== undefined) after.role = input.role;
  if (input.tenantId !== undefined) after.tenant_id = input.tenantId;
  if (input.status === 'active') after.suspended_at = null;
  if (input.status === 'suspended') after.suspended_at = before.suspended_at ?? now;

  if (after.tenant_id !== before.tenant_id && after.tenant_id !== null && !(await tenantExists(db, after.tenant_id)))
    throw UserErrors.TENANT_UNKNOWN({ details: { path: 'tenantId' } });
  const isSuspended = before.suspended_at === null && after.suspended_at !== null;
  const losesRole = isActiveAdmin(before) && !isActiveAdmin(after);
  if (losesRole) await assertAnotherAdmin(db, id);
  // An administrator of the embedding application has another role here.
  if (losesRole || isSuspended) await revokeInvitesBy(change, id);
  if (isSuspended) await endAccess(platform, change, id);
  return toUser(await writeUser(change, before, after, changed));
}

const isActiveAdmin = ({ role, suspended_at }: UserRow): boolean => role === 'admin' && suspended_at === null;

/** Ends the sessions of a user and all sign-ins in progress. */
async function endAccess(platform: Pick<Platform, 'config'>, change: Change, userId: Id<'user'>): Promise<void> {
  await endSessions(platform, change, userId, { reason: 'user-suspended' });
  for (const table of ['one_time_tokens', 'email_codes'] as const)
    await change.db.deleteFrom(table).where('user_id', '=', userId).execute();
}

/**
 * Writes role, tenant, name and status of a user, unless nothing has changed. The user's agents take over tenant and
 * suspension in the same change; other areas react to the emitted `user.updated`. Returns the user as stored.
 */
export async function writeUser(
  change: Change,
  before: UserRow,
  after: UserRow,
  alsoChanged: readonly string[] = [],
): Promise<UserRow> {
  const { db, now } = change;
  const { id } = before;
  const movesTenant = after.tenant_id !== before.tenant_id;
  const changesStatus = (after.suspended_at === null) !== (before.suspended_at === null);
  const changed = [
    ...(after.name === before.name ? [] : ['name']),
    ...(after.role === before.role ? [] : ['role']),
    ...(movesTenant ? ['tenantId'] : []),
    ...(changesStatus ? ['status'] : []),
    ...alsoChanged,
  ];
  if (changed.length === 0) return before;
  if (movesTenant || changesStatus || after.role !== before.role) change.invalidate();
  if (movesTenant)
    await db
      .updateTable('agents')
      .set({ tenant_id: after.tenant_id, updated_at: now, policy_epoch: change.epoch })
      .where('owner_id', '=', id)
      .execute();
  if (changesStatus)
    await db
      .updateTable('agents')
      .set({ owner_suspended: after.suspended_at === null ? 0 : 1, policy_epoch: change.epoch })
      .where('owner_id', '=', id)
      .execute();
  await db
    .updateTable('users')
    .set({
      name: after.name,
      ...searchColumns(after),
      role: after.role,
      tenant_id: after.tenant_id,
      suspended_at: after.suspended_at,
      updated_at: now,
    })
    .where('id', '=', id)
    .execute();
  const fields = changedFields(toUser(before), toUser(after));
  change.emit({ type: 'user.updated', userId: id, data: { userId: id, changed }, ...fields });
  return after;
}
