import type { Id } from '../../../kernel/ids.ts';
import type { Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, type PersonCalling, sendNotice } from '../../users/index.ts';
import { PasskeyErrors } from './errors.ts';
import { deletePasskeys } from './store.ts';

/** Removes a passkey of the caller. 404 PASSKEY_NOT_FOUND also for a passkey of another user. */
export async function removePasskey(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'mailer'>,
  person: PersonCalling,
  id: Id<'passkey'>,
  language: Language,
): Promise<void> {
  if (!/^pky_[0-9a-z]{26}$/.test(id)) throw PasskeyErrors.PASSKEY_NOT_FOUND();
  const { userId } = person.principal;
  const removed = await platform.ledger.change(person.actor, async (change) => {
    await person.reauthorize(change.db);
    const [row] = await deletePasskeys(change, userId, 'removed', id);
    if (!row) throw PasskeyErrors.PASSKEY_NOT_FOUND();
    return { name: row.name, user: await findUser(change.db, userId) };
  });
  if (!removed.user) return;
  sendNotice(platform, removed.user, language, (texts, brand) => texts.passkeyRemoved(brand, removed.name));
}
