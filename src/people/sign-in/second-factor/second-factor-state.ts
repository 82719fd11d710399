import { unseal } from '../../../kernel/encryption.ts';
import type { Id } from '../../../kernel/ids.ts';
import { secretsEqual } from '../../../kernel/secrets.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, hasUsablePassword } from '../../users/index.ts';
import { TOTP_PURPOSE } from './store.ts';
import { totpUri } from './totp.ts';

export interface SecondFactorState {
  /** When it was switched on; null while it is off. */
  readonly enabledAt: number | null;
  /** Backup codes that are not used. */
  readonly backupCodes: number;
  /** Whether changes need the password. */
  readonly needsPassword: boolean;
}

/** Returns what a user sees of their second factor. */
export async function getSecondFactor(
  platform: Pick<Platform, 'config' | 'database'>,
  userId: Id<'user'>,
): Promise<SecondFactorState> {
  const { database } = platform;
  const [user, secret, codes] = await Promise.all([
    findUser(database.read, userId),
    database.read.selectFrom('totp_secrets').select('enabled_at').where('user_id', '=', userId).executeTakeFirst(),
    database.read.selectFrom('backup_codes').select('code_hash').where('user_id', '=', userId).execute(),
  ]);
  return {
    enabledAt: secret?.enabled_at ?? null,
    backupCodes: codes.length,
    needsPassword: user !== undefined && hasUsablePassword(platform, user),
  };
}

/**
 * Returns the otpauth:// URI of a second factor that waits for its first code, if `secret` is its secret. The page that
 * reports a wrong code sends the secret with its form, because a session alone must not read it.
 */
export async function findPendingUri(
  { config, database, secrets }: Pick<Platform, 'config' | 'database' | 'secrets'>,
  userId: Id<'user'>,
  secret: string | undefined,
): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('totp_secrets')
    .innerJoin('users', 'users.id', 'totp_secrets.user_id')
    .select(['totp_secrets.secret', 'users.email'])
    .where('totp_secrets.user_id', '=', userId)
    .where('totp_secrets.enabled_at', 'is', null)
    .executeTakeFirst();
  if (!row || secret === undefined) return undefined;
  const stored = unseal(secrets().pepper, TOTP_PURPOSE, userId, row.secret);
  return secretsEqual(stored, secret) ? totpUri(config.service.name, row.email ?? userId, stored) : undefined;
}
