import { invalidCredential } from '../../../kernel/errors.ts';
import { asId } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import { withRecentProof } from '../../sessions/index.ts';
import {
  findUser,
  type PersonCalling,
  recordFailure,
  toUser,
  trustDevice,
  type User,
  withSignInAudit,
} from '../../users/index.ts';
import { deviceOfCall } from '../attempts/attempts.ts';
import { NEVER } from '../finish-sign-in.ts';
import { replaceBackupCodes } from './backup-codes.ts';
import { SecondFactorErrors } from './errors.ts';
import type { VerifyTotp } from './schema.ts';
import { secondFactorChanged } from './store.ts';
import { useCode } from './use-code.ts';

export interface Confirmed {
  readonly user: User;
  /** Set-Cookie value of a newly trusted device. */
  readonly deviceCookie: string | undefined;
  /** Set if this code switched the second factor on and they were requested. */
  readonly backupCodes?: readonly string[];
}

/**
 * Checks a code of a signed-in user. The first correct one switches the second factor on; each one counts as a recent
 * authentication of this session. 401 INVALID_CODE, 403 REAUTHENTICATION_REQUIRED, 409 TOTP_NOT_SET_UP, 429
 * TOO_MANY_TRIES.
 * @param withBackupCodes replace the backup codes when the second factor is switched on, and return the new ones
 */
export async function confirmTotp(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  { code, trustDevice: trusts }: Pick<VerifyTotp, 'code' | 'trustDevice'>,
  person: PersonCalling & { readonly userAgent: string | null },
  { withBackupCodes = false }: { readonly withBackupCodes?: boolean } = {},
): Promise<Confirmed> {
  const { userId } = person.principal;
  return withSignInAudit(platform, async (change) => {
    const { db, now } = change;
    change.actAs(person.actor);
    await person.reauthorize(db);
    const row = await findUser(db, userId);
    if (!row) throw invalidCredential('principal-ended');
    const known = await db
      .selectFrom('totp_secrets')
      .select('enabled_at')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    if (!known) throw SecondFactorErrors.TOTP_NOT_SET_UP();
    // Passkeys may have been added since the set-up began.
    if (known.enabled_at === null) await withRecentProof(platform, person)(db);
    const used = await useCode(platform, change, userId, code, deviceOfCall(person.principal));
    if (typeof used === 'object')
      return recordFailure(
        platform,
        change,
        { method: used.method, email: row.email, userId, ip: person.ip },
        used.error,
      );
    const deviceCookie = trusts ? await trustDevice(platform, change, userId, person.userAgent) : undefined;
    // Other sessions have not proved the new factor, except those begun with a passkey, or at a provider with a second
    // factor, which count as both.
    if (known.enabled_at === null)
      await db
        .updateTable('sessions')
        .set({ auth_time: NEVER })
        .where('user_id', '=', userId)
        .where('both_factors', '=', 0)
        .execute();
    await db
      .updateTable('sessions')
      .set({ auth_time: platform.clock.now() })
      .where('id', '=', asId('session', person.principal.credentialId ?? ''))
      .execute();
    if (known.enabled_at !== null) return { user: toUser(row), deviceCookie };
    await db.updateTable('totp_secrets').set({ enabled_at: now }).where('user_id', '=', userId).execute();
    // If a second factor is required, all rights of the user apply from now on.
    change.invalidate();
    await db.updateTable('users').set({ two_factor_enabled: 1, updated_at: now }).where('id', '=', userId).execute();
    change.emit(secondFactorChanged(userId, true));
    const user = toUser({ ...row, two_factor_enabled: 1, updated_at: now });
    if (!withBackupCodes) return { user, deviceCookie };
    return { user, deviceCookie, backupCodes: await replaceBackupCodes(platform, change, userId) };
  });
}
