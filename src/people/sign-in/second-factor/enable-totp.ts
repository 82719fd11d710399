import { seal } from '../../../kernel/encryption.ts';
import type { Platform } from '../../../platform.ts';
import { withRecentProof, withRecentSignIn } from '../../sessions/index.ts';
import { type PersonCalling, withPasswordIfUsable } from '../../users/index.ts';
import { resetAllFailures } from '../attempts/attempts.ts';
import { replaceBackupCodes } from './backup-codes.ts';
import { SecondFactorErrors } from './errors.ts';
import type { TotpEnabling } from './schema.ts';
import { TOTP_PURPOSE } from './store.ts';
import { newTotpSecret, totpUri } from './totp.ts';

/**
 * Creates the secret and the backup codes of a second factor, which are shown once. The first correct code ({@link
 * confirmTotp}) switches it on; until then, a repeated call replaces both. Users without a usable password must have
 * signed in recently instead. 400 VALIDATION_FAILED, 401 INVALID_PASSWORD, 409 TOTP_ALREADY_ENABLED, 403
 * REAUTHENTICATION_REQUIRED.
 */
export async function enableTotp(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'secrets' | 'stateOf'>,
  person: PersonCalling,
  password: string | undefined,
): Promise<TotpEnabling> {
  const secret = newTotpSecret();
  return withPasswordIfUsable(platform, person, password, async (change, row) => {
    const { db, now } = change;
    if (row.two_factor_enabled === 1) throw SecondFactorErrors.TOTP_ALREADY_ENABLED();
    // The password alone must not replace the passkeys of a person.
    await (password === undefined ? withRecentSignIn : withRecentProof)(platform, person)(db);
    await db.deleteFrom('totp_secrets').where('user_id', '=', row.id).execute();
    await db
      .insertInto('totp_secrets')
      .values({
        user_id: row.id,
        secret: seal(platform.secrets().pepper, TOTP_PURPOSE, row.id, secret),
        enabled_at: null,
        last_step: -1,
        created_at: now,
      })
      .execute();
    const backupCodes = await replaceBackupCodes(platform, change, row.id);
    await resetAllFailures(change, row.id, ['totp', 'backup-code']);
    return { totpURI: totpUri(platform.config.service.name, row.email ?? row.id, secret), secret, backupCodes };
  });
}
