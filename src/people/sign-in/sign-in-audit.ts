import { hash } from 'node:crypto';
import { type Actor, UNKNOWN } from '../../access/actor.ts';
import type { LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { emailKey } from '../users/email.ts';
import { summedFailures } from './summed-failures.ts';

/** An attempt to sign in or to authenticate again. */
export interface Attempt {
  /** `password`, `magic-link`, `email-otp`, `passkey`, `totp` or `backup-code`. */
  readonly method: string;
  /** As sent, if the attempt names an address. */
  readonly email?: string | null | undefined;
  /** The user concerned, if known. */
  readonly userId?: Id<'user'> | undefined;
  readonly ip: string | null;
}

/** The result of a failed attempt in {@link withSignInAudit}: the change commits, then `error` is thrown. */
export class FailedAttempt {
  readonly error: LegateError;
  constructor(error: LegateError) {
    this.error = error;
  }
}

/** Readers of the ledger can recognise an address that they know by its hash, but cannot read other addresses. */
const emailHash = (email: string): string => hash('sha256', emailKey(email.toWellFormed()), 'hex');

/**
 * Emits `auth.failed`, which the user concerned can see. Unknown addresses appear only as a hash, the client address
 * only with `multiSession.trackIp`. Failures with unknown targets become at most one event a minute, and so do those of
 * one user that a pause refuses: otherwise their time would reveal whether there is such an account. All are counted
 * and logged.
 */
export function recordFailure(
  { config, stateOf }: Pick<Platform, 'config' | 'stateOf'>,
  change: Change,
  { method, email, userId, ip }: Attempt,
  error: LegateError,
): FailedAttempt {
  const isSummed = userId === undefined || error.code === 'TOO_MANY_TRIES';
  const counted = isSummed ? stateOf(summedFailures).record(`${method} ${userId ?? ''}`) : 0;
  if (counted === undefined) return new FailedAttempt(error);
  const ipAddress = config.multiSession.trackIp ? ip : null;
  if (change.actor.id === null && ipAddress !== null) change.actAs({ ...UNKNOWN, ip: ipAddress });
  change.emit({
    type: 'auth.failed',
    ...(userId === undefined ? {} : { userId }),
    data: {
      ...(userId === undefined ? {} : { userId }),
      ...(email === null || email === undefined ? {} : { emailHash: emailHash(email) }),
      method,
      reason: error.code,
      ipAddress,
      ...(counted > 0 ? { countedBefore: counted } : {}),
    },
  });
  return new FailedAttempt(error);
}

/**
 * Runs a change that may return a {@link FailedAttempt}: its writes and events are committed, then the error is
 * thrown.
 */
export async function withSignInAudit<T>(
  { ledger }: Pick<Platform, 'ledger'>,
  work: (change: Change) => Promise<T | FailedAttempt>,
  by: Actor = UNKNOWN,
): Promise<T> {
  const outcome = await ledger.change(by, work);
  if (outcome instanceof FailedAttempt) throw outcome.error;
  return outcome;
}
