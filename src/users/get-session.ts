import type { UserPrincipal } from '../lib/access.ts';
import { invalidCredential } from '../lib/error.ts';
import type { Platform } from '../platform.ts';
import { getCurrentSession } from '../sessions/index.ts';
import type { SessionAndUser } from './schema.ts';
import { ensureExternalUser, findUser, requireUser, toUser } from './store.ts';

/** Who is calling, and the session that proves it. A user of the embedding application gets a bare record when it has none. */
export async function getSession(platform: Platform, principal: UserPrincipal): Promise<SessionAndUser> {
  const { read } = platform.database;
  if (principal.via === 'external') {
    const row =
      (await findUser(read, principal.userId)) ??
      (await platform.ledger.change(async ({ db, now }) => {
        await ensureExternalUser(db, now, principal);
        return requireUser(db, principal.userId);
      }));
    return { session: null, user: { ...toUser(row), role: principal.role, tenantId: principal.tenantId ?? row.tenant_id } };
  }
  const row = await findUser(read, principal.userId);
  const session = principal.via === 'session' && principal.credentialId !== null ? await getCurrentSession(platform, principal.credentialId) : null;
  // Ended between the proof and now.
  if (!row || session === undefined) throw invalidCredential();
  return { session, user: toUser(row) };
}
