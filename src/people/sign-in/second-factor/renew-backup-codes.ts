import type { Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, type PersonCalling, recordFailure, sendNotice, withSignInAudit } from '../../users/index.ts';
import { deviceOfCall, resetAllFailures } from '../attempts/attempts.ts';
import { replaceBackupCodes } from './backup-codes.ts';
import { SecondFactorErrors } from './errors.ts';
import { useCode } from './use-code.ts';

/**
 * Replaces the backup codes of a signed-in user and returns the new ones, which are shown once. Mails the user. Needs a
 * code of the app or a backup code. 401 INVALID_CODE, 409 TOTP_NOT_SET_UP, 429 TOO_MANY_TRIES.
 */
export async function renewBackupCodes(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'ledger' | 'mailer' | 'secrets' | 'stateOf'>,
  person: PersonCalling,
  code: string,
  language: Language,
): Promise<readonly string[]> {
  const { userId } = person.principal;
  const { user, codes } = await withSignInAudit(
    platform,
    async (change) => {
      await person.reauthorize(change.db);
      const row = await findUser(change.db, userId);
      if (row?.two_factor_enabled !== 1) throw SecondFactorErrors.TOTP_NOT_SET_UP();
      const used = await useCode(platform, change, userId, code, deviceOfCall(person.principal));
      if (typeof used === 'object') {
        const attempt = { method: used.method, email: row.email, userId, ip: person.ip };
        return recordFailure(platform, change, attempt, used.error);
      }
      const renewed = await replaceBackupCodes(platform, change, userId);
      await resetAllFailures(change, userId, ['backup-code']);
      change.emit({
        type: 'user.updated',
        userId,
        data: { userId, changed: ['backupCodes'] },
        before: { backupCodes: 'set' },
        after: { backupCodes: 'changed' },
      });
      return { user: row, codes: renewed };
    },
    person.actor,
  );
  sendNotice(platform, user, language, (texts, brand) => texts.backupCodesReplaced(brand));
  return codes;
}
