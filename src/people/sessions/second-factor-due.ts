import type { Platform } from '../../platform.ts';
import type { SessionRow, UserRow } from '../../storage/index.ts';

/**
 * Returns whether `users.requireSecondFactor` applies to a user who has no second factor. It does not apply to a
 * session that was begun with a passkey, which counts as both factors.
 */
export function isSecondFactorDue(
  { config }: Pick<Platform, 'config'>,
  { role, two_factor_enabled }: Pick<UserRow, 'role' | 'two_factor_enabled'>,
  { both_factors }: Pick<SessionRow, 'both_factors'>,
): boolean {
  const required = config.users.requireSecondFactor;
  return (
    two_factor_enabled !== 1 && both_factors !== 1 && (required === 'all' || (required === 'admins' && role !== 'user'))
  );
}
