import type { Platform } from '../../../platform.ts';
import { type PersonCalling, recordFailure, UserErrors, withPasswordIfUsable } from '../../users/index.ts';
import { deviceOfCall } from '../attempts/attempts.ts';
import type { DisableTotp } from './schema.ts';
import { endSecondFactor } from './store.ts';
import { useCode } from './use-code.ts';

/**
 * Switches the second factor off and deletes its backup codes and trusted devices. Needs the password, if the user has
 * a usable one, and, while the second factor is on, a code. Does nothing if it is off. 400 VALIDATION_FAILED, 401
 * INVALID_PASSWORD, 401 INVALID_CODE, 429 TOO_MANY_TRIES.
 */
export async function disableTotp(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'secrets' | 'stateOf'>,
  person: PersonCalling,
  { password, code }: DisableTotp,
): Promise<void> {
  await withPasswordIfUsable<void>(platform, person, password, async (change, row) => {
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
    return endSecondFactor(change, row.id);
  });
}
