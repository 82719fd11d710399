import { LegateError } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { UserErrors } from '../users/errors.ts';
import { BreachErrors } from './breach/index.ts';
import type { PasswordContext } from './password-rule.ts';

/** What a new password can be refused for. */
export const passwordErrors = [
  BreachErrors.PASSWORD_BREACHED,
  UserErrors.PASSWORD_REJECTED,
  BreachErrors.PASSWORD_CHECK_UNAVAILABLE,
];

/** Headers for the answer: what is to be said about a password that is accepted all the same. */
export type PasswordAdvice = Readonly<Record<string, string>>;

/**
 * Whether a password may become somebody's, beyond its length: it is in no known data breach (`breach.*`), and the embedder's rule
 * (`users.validatePassword`) has nothing against it. Asked before the password is hashed, and outside any change, since both may take time.
 * 422 PASSWORD_BREACHED, 422 PASSWORD_REJECTED, 503 PASSWORD_CHECK_UNAVAILABLE.
 */
export async function assertPasswordAllowed(
  platform: Platform,
  password: string,
  context: PasswordContext,
): Promise<PasswordAdvice> {
  await applyOwnRule(platform, password, context);
  const { enabled, mode, minBreachCount } = platform.config.breach;
  if (!enabled) return {};
  // Passwords are stored in this form, so that is what is compared.
  const stored = password.normalize('NFKC');
  if (mode === 'enforce') {
    await platform.breach.enforce(stored);
    return {};
  }
  const { count } = await platform.breach.check(stored);
  if (count < minBreachCount) return {};
  platform.log.warn(
    { action: context.action, userId: context.userId },
    'a password that is known from data breaches was accepted (breach.mode is warn)',
  );
  return { 'legate-warning': `PASSWORD_BREACHED;count=${count}` };
}

async function applyOwnRule(
  { validatePassword, log }: Platform,
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
