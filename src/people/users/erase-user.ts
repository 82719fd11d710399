import { applicationCaller, type Changer } from '../../access/caller.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Erasure } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { deleteUser } from './delete-user.ts';
import { UserErrors } from './errors.ts';
import { findUser } from './store.ts';

/**
 * Deletes a user and erases what the ledger has of them, for administrators. A repetition for a user who is deleted
 * already goes on with what an earlier erasure has left. Throws as {@link deleteUser}, and 404 USER_NOT_FOUND if
 * nothing is left.
 */
export async function eraseUser(platform: Platform, caller: Changer, id: string): Promise<Erasure> {
  const userId = id as Id<'user'>;
  if (await findUser(platform.database.read, id)) {
    await deleteUser(platform, caller, id, { erase: true });
    // An administrator may erase their own account, after which the credential has ended.
    return platform.erasePerson(platform, applicationCaller(caller.actor), userId);
  }
  const [left] = await platform.reader.page({ where: [{ field: 'userId', values: [id] }] }, 1);
  if (!left) throw UserErrors.USER_NOT_FOUND();
  // No tag names the version of a user who is gone.
  caller.assertUnchanged?.(versioned({}, {}));
  return platform.erasePerson(platform, caller, userId);
}
