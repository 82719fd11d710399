import type { Actor } from '../../access/actor.ts';
import type { UserPrincipal } from '../../access/principal.ts';
import { invalidCredential, validationFailed } from '../../kernel/errors.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import {
  assertNotPaused,
  countFailure,
  deviceOfCall,
  findPauseError,
  resetFailures,
  type Target,
} from '../sign-in/attempts/attempts.ts';
import { type FailedAttempt, recordFailure, withSignInAudit } from '../sign-in/sign-in-audit.ts';
import { UserErrors } from '../users/errors.ts';
import { findUser } from '../users/store.ts';
import { hasUsablePassword } from './may-use-password.ts';
import { verifyPassword } from './password.ts';

export interface PersonCalling {
  readonly principal: UserPrincipal;
  /** Checks credential and rights again inside the change. */
  readonly reauthorize: (db: Db) => Promise<unknown>;
  readonly ip: string | null;
  readonly actor: Actor;
}

/**
 * Runs a change that needs the user's password in addition to their session. `work` receives the user's row as it is
 * in the change. 401 INVALID_PASSWORD, which is recorded as `auth.failed`; 429 TOO_MANY_TRIES after ten failures in a
 * row from this session.
 */
export async function withPasswordCheck<T>(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>,
  person: PersonCalling,
  password: string,
  work: (change: Change, row: UserRow) => Promise<T | FailedAttempt>,
): Promise<T> {
  const { userId } = person.principal;
  const target: Target = { guessed: 'password', account: { userId }, device: deviceOfCall(person.principal) };
  await assertNotPaused(platform.database.read, platform.clock.now(), target);
  const found = await findUser(platform.database.read, userId);
  const right = await verifyPassword(found?.password_hash ?? null, password);
  const proved = async (change: Change): Promise<T | FailedAttempt> => {
    await person.reauthorize(change.db);
    const row = await findUser(change.db, userId);
    if (!row) throw invalidCredential('principal-ended');
    const attempt = { method: 'password', email: row.email, userId, ip: person.ip };
    const paused = await findPauseError(change.db, change.now, target);
    if (paused) return recordFailure(platform, change, attempt, paused) as FailedAttempt;
    if (!right || row.password_hash !== found?.password_hash) {
      await countFailure(change, target);
      return recordFailure(
        platform,
        change,
        attempt,
        UserErrors.INVALID_PASSWORD({ reason: 'password-wrong' }),
      ) as FailedAttempt;
    }
    await resetFailures(change, target);
    return work(change, row);
  };
  return withSignInAudit<T>(platform, proved, person.actor);
}

/**
 * Runs a change like {@link withPasswordCheck}. Users without a password, and those whose password is switched off,
 * send none: `work` must then ask for another proof. 400 VALIDATION_FAILED for other users who send none.
 */
export async function withPasswordIfUsable<T>(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>,
  person: PersonCalling,
  password: string | undefined,
  work: (change: Change, row: UserRow) => Promise<T | FailedAttempt>,
): Promise<T> {
  if (password !== undefined) return withPasswordCheck(platform, person, password, work);
  const checked = async (change: Change): Promise<T | FailedAttempt> => {
    await person.reauthorize(change.db);
    const row = await findUser(change.db, person.principal.userId);
    if (!row) throw invalidCredential('principal-ended');
    if (hasUsablePassword(platform, row))
      throw validationFailed([{ path: 'password', message: 'is required, because the account has a password' }]);
    return work(change, row);
  };
  return withSignInAudit<T>(platform, checked, person.actor);
}
