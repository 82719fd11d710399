import { asUser, type Principal, type Visibility } from '../../access/principal.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { SessionErrors } from './errors.ts';

/** Time for which an authentication with all factors counts as recent. */
const RECENT_MS = 15 * MINUTE_MS;

/**
 * Replaces a call's `reauthorize` for actions through which a stolen session would gain lasting access. A user with a
 * second factor must have used it recently: 403 REAUTHENTICATION_REQUIRED. API tokens pass, and so do users without a
 * second factor, who have nothing more to prove.
 */
export const withRecentProof =
  (
    platform: Platform,
    call: { readonly principal: Principal; readonly reauthorize: (db: Db) => Promise<Visibility> },
  ) =>
  async (db: Db): Promise<Visibility> => {
    const visibility = await call.reauthorize(db);
    const principal = asUser(call.principal);
    if (principal.via !== 'session' || principal.credentialId === null) return visibility;
    const row = await db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.auth_time', 'users.two_factor_enabled'])
      .where('sessions.id', '=', principal.credentialId)
      .executeTakeFirst();
    if (!row) throw invalidCredential('principal-ended');
    if (row.two_factor_enabled === 1 && platform.clock.now() - row.auth_time > RECENT_MS)
      throw SessionErrors.REAUTHENTICATION_REQUIRED({ details: { method: 'POST', path: '/totp/verify' } });
    return visibility;
  };
