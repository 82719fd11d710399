import { applicationCaller, type Changer } from '../../access/caller.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Erasure } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { deleteUser } from './delete-user.ts';
import { UserErrors } from './errors.ts';
import { findUser } from './store.ts';

/**
 * Deletes a user and erases their personal data from the ledger, for administrators. A call for a deleted user
 * continues an erasure that was not completed. Throws the errors of {@link deleteUser}, and 404 USER_NOT_FOUND if
 * nothing is left to erase.
 */
export async function eraseUser(platform: Platform, caller: Changer, id: Id<'user'>): Promise<Erasure> {
  const userId = id as Id<'user'>;
  if (await findUser(platform.database.read, id)) {
    await deleteUser(platform, caller, id, { erase: true });
    // An administrator may erase their own account, after which the credential has ended.
    return platform.erasePerson(platform, applicationCaller(caller.actor), userId);
  }
  const [left] = await platform.reader.page({ where: [{ field: 'userId', values: [id] }] }, 1);
  if (!left) throw UserErrors.USER_NOT_FOUND();
  // A deleted user has no version, so If-Match cannot be compared.
  caller.assertUnchanged?.(versioned({}, {}));
  return platform.erasePerson(platform, caller, userId);
}
