import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';

/** Returns whether `users.requireSecondFactor` applies to a user who has no second factor. */
export function isSecondFactorDue(
  { config }: Pick<Platform, 'config'>,
  { role, two_factor_enabled }: Pick<UserRow, 'role' | 'two_factor_enabled'>,
): boolean {
  const required = config.users.requireSecondFactor;
  return two_factor_enabled !== 1 && (required === 'all' || (required === 'admins' && role !== 'user'));
}
