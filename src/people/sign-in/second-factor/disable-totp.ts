import type { Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { type PersonCalling, recordFailure, sendNotice, UserErrors, withPasswordIfUsable } from '../../users/index.ts';
import { deviceOfCall } from '../attempts/attempts.ts';
import type { DisableTotp } from './schema.ts';
import { endSecondFactor } from './store.ts';
import { useCode } from './use-code.ts';

/**
 * Switches the second factor off and deletes its backup codes and trusted devices. Needs the password, if the user has
 * a usable one, and, while the second factor is on, a code. Mails the user. Does nothing if it is off. 400
 * VALIDATION_FAILED, 401 INVALID_PASSWORD, 401 INVALID_CODE, 429 TOO_MANY_TRIES.
 */
export async function disableTotp(
  platform: Platform,
  person: PersonCalling,
  { password, code }: DisableTotp,
  language: Language,
): Promise<void> {
  const switchedOff = await withPasswordIfUsable(platform, person, password, async (change, row) => {
    if (row.two_factor_enabled === 1) {
      const attempt = { email: row.email, userId: row.id, ip: person.ip };
      if (code === undefined) {
        const missing = UserErrors.INVALID_CODE({ reason: 'second-factor-code-missing' });
        return recordFailure(platform, change, { ...attempt, method: 'totp' }, missing);
      }
      const used = await useCode(platform, change, row.id, code, deviceOfCall(person.principal));
      if (typeof used === 'object')
        return recordFailure(platform, change, { ...attempt, method: used.method }, used.error);
    }
    await endSecondFactor(change, row.id);
    return row.two_factor_enabled === 1 ? row : undefined;
  });
  if (switchedOff) sendNotice(platform, switchedOff, language, (texts, brand) => texts.secondFactorOff(brand));
}
