import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { UserErrors } from '../users/errors.ts';

/** Returns whether `users.passwords` lets a user with this role sign in with a password (contract 23.2). */
export const mayUsePassword = ({ config }: Pick<Platform, 'config'>, role: UserRow['role'] | undefined): boolean =>
  config.users.passwords === 'on' || (config.users.passwords === 'adminsOnly' && role === 'admin');

/** Returns whether a user has a password with which they may sign in. */
export const hasUsablePassword = (
  platform: Pick<Platform, 'config'>,
  { password_hash, role }: Pick<UserRow, 'password_hash' | 'role'>,
): boolean => password_hash !== null && mayUsePassword(platform, role);

/** Throws 403 PASSWORDS_OFF. */
export function assertMayUsePassword(platform: Pick<Platform, 'config'>, role: UserRow['role'] | undefined): void {
  if (!mayUsePassword(platform, role)) throw UserErrors.PASSWORDS_OFF();
}
