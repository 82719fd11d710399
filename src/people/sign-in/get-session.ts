import { person } from '../../access/actor.ts';
import type { UserPrincipal } from '../../access/principal.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { signedIn, toSession } from '../sessions/index.ts';
import type { SessionAndUser } from '../users/schema.ts';
import { ensureExternalUser, findUser, getUserRow, toUser } from '../users/store.ts';

/**
 * Returns the caller and their session, if they used one. Creates the record of a user of the embedding application if
 * it is missing.
 */
export async function getSession(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger'>,
  principal: UserPrincipal,
): Promise<SessionAndUser> {
  const { read } = platform.database;
  if (principal.via === 'external') {
    const row =
      (await findUser(read, principal.userId)) ??
      (await platform.ledger.change(person(principal.userId, null), async (change) => {
        await ensureExternalUser(change, principal);
        return getUserRow(change.db, principal.userId);
      }));
    return {
      session: null,
      user: { ...toUser(row), role: principal.role, tenantId: principal.tenantId ?? row.tenant_id },
    };
  }
  const known = signedIn(principal);
  if (known) return { session: toSession(platform, known.session, known.session.id), user: toUser(known.user) };
  const row = await findUser(read, principal.userId);
  // The session ended after authentication.
  if (!row) throw invalidCredential('principal-ended');
  return { session: null, user: toUser(row) };
}
