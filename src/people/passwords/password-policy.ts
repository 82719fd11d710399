import type { PasswordContext } from '../../access/password-rule.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { UserErrors } from '../users/errors.ts';
import { BreachErrors, breachCheckOf } from './breach/index.ts';
import { isCommonPassword } from './common/is-common.ts';
import { isMadeOf, wordsOfEmail } from './common/own-words.ts';

/** The errors for a new password. */
export const passwordErrors = [
  UserErrors.PASSWORD_TOO_COMMON,
  UserErrors.PASSWORD_TOO_PERSONAL,
  BreachErrors.PASSWORD_BREACHED,
  UserErrors.PASSWORD_REJECTED,
  BreachErrors.PASSWORD_CHECK_UNAVAILABLE,
];

/** Headers for the answer: a warning about an accepted password. */
export type PasswordAdvice = Readonly<Record<string, string>>;

/**
 * Checks a new password beyond its length: `users.validatePassword` must accept it, and it must not be in a known data
 * breach (`breach.*`), one of the most common passwords, or made of words from the account. Runs before the password is
 * hashed and outside any change, because it may take time. 422 PASSWORD_TOO_COMMON, PASSWORD_TOO_PERSONAL,
 * PASSWORD_BREACHED, PASSWORD_REJECTED; 503 PASSWORD_CHECK_UNAVAILABLE.
 */
export async function assertPasswordAllowed(
  platform: Pick<Platform, 'config' | 'log' | 'stateOf' | 'validatePassword'>,
  password: string,
  context: PasswordContext,
): Promise<PasswordAdvice> {
  await applyOwnRule(platform, password, context);
  const { enabled, mode, minBreachCount } = platform.config.breach;
  // The normalised form, which is also the form that is hashed.
  const stored = password.normalize('NFKC');
  // Before the list, so that a client which expects PASSWORD_BREACHED gets it for common passwords too.
  if (enabled && mode === 'enforce') await breachCheckOf(platform).enforce(stored);
  await assertNotGuessable(platform, password, context.email);
  if (!enabled || mode === 'enforce') return {};
  const { count } = await breachCheckOf(platform).check(stored);
  if (count < minBreachCount) return {};
  platform.log.warn(
    { action: context.action, userId: context.userId },
    'accepted a password that appears in known data breaches (breach.mode is warn)',
  );
  return { 'legate-warning': `PASSWORD_BREACHED;count=${count}` };
}

/**
 * Throws 422 PASSWORD_TOO_COMMON or PASSWORD_TOO_PERSONAL for a password that attackers try first (NIST SP 800-63B-4,
 * section 3.1.1.2).
 */
export async function assertNotGuessable(
  { config: { service } }: Pick<Platform, 'config'>,
  password: string,
  email: string | null,
): Promise<void> {
  if (await isCommonPassword(password)) throw UserErrors.PASSWORD_TOO_COMMON();
  if (isMadeOf(password, [service.name, 'legate', ...wordsOfEmail(email)])) throw UserErrors.PASSWORD_TOO_PERSONAL();
}

async function applyOwnRule(
  { validatePassword, log }: Pick<Platform, 'log' | 'validatePassword'>,
  password: string,
  context: PasswordContext,
): Promise<void> {
  if (!validatePassword) return;
  let verdict: unknown;
  try {
    verdict = await validatePassword(password, context);
  } catch (error) {
    if (error instanceof LegateError) throw error;
    log.warn({ err: error, action: context.action }, 'users.validatePassword refused a password by throwing');
    throw UserErrors.PASSWORD_REJECTED({ cause: error });
  }
  if (typeof verdict === 'string') throw UserErrors.PASSWORD_REJECTED(verdict === '' ? {} : { message: verdict });
  if (verdict === false) throw UserErrors.PASSWORD_REJECTED();
}
