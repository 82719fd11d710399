import type { Changer } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { endApiTokens } from '../api-tokens/end-api-tokens.ts';
import { revokeInvitesBy } from '../invites/invites.ts';
import { endSessions } from '../sessions/index.ts';
import { assertAnotherAdmin, getUserRow, toUser } from './store.ts';

/** Tables whose rows belong to a user and are deleted with the user without an event. */
const OWNED = [
  'one_time_tokens',
  'email_codes',
  'totp_secrets',
  'backup_codes',
  'passkeys',
  'trusted_devices',
  'identities',
] as const;

/**
 * Deletes a user, for administrators. The same change ends the user's sessions, API tokens and invitations, and by
 * reaction revokes their agents, with one event each. Audit entries remain. With `erase`, the event does not identify
 * the user, and invitations to the same address end. 404 USER_NOT_FOUND, 409 LAST_ADMIN.
 */
export async function deleteUser(
  platform: Pick<Platform, 'config' | 'ledger'>,
  caller: Changer,
  id: Id<'user'>,
  { erase = false }: { readonly erase?: boolean } = {},
): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const user = await getUserRow(db, id);
    caller.assertUnchanged?.(toUser(user));
    if (user.role === 'admin' && user.suspended_at === null) await assertAnotherAdmin(db, id);
    change.invalidate();
    await revokeInvitesBy(change, id);
    await endSessions(platform, change, id, { reason: 'user-deleted' });
    await endApiTokens(change, id, 'user-deleted');
    for (const table of OWNED) await db.deleteFrom(table).where('user_id', '=', id).execute();
    await db.deleteFrom('attempts').where('account', '=', id).execute();
    await db.deleteFrom('users').where('id', '=', id).execute();
    const { id: _, createdAt, updatedAt, ...before } = toUser(user);
    if (erase && user.email_key !== null)
      await db.deleteFrom('invites').where('email_key', '=', user.email_key).execute();
    change.emit({ type: 'user.deleted', userId: id, data: { userId: id }, ...(erase ? {} : { before }) });
  });
}
