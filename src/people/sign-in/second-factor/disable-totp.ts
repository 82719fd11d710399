import type { Platform } from '../../../platform.ts';
import { type PersonCalling, withPasswordCheck } from '../../users/index.ts';
import { endSecondFactor } from './store.ts';

/** Switches the second factor off, with its backup codes and trusted devices. 401 INVALID_PASSWORD. Off already: nothing to do. */
export async function disableTotp(platform: Platform, person: PersonCalling, password: string): Promise<void> {
  await withPasswordCheck(platform, person, password, (change, row) => endSecondFactor(change, row.id));
}
