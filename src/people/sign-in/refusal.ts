import { hash } from 'node:crypto';
import { type Actor, UNKNOWN } from '../../access/actor.ts';
import type { LegateError } from '../../kernel/errors.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { emailKey } from '../users/email.ts';

/** An attempt to sign in, or to prove oneself again. */
export interface Attempt {
  /** `password`, `magic-link`, `email-otp`, `totp` or `backup-code`. */
  readonly method: string;
  /** As it was sent, where the attempt names one. */
  readonly email?: string | null | undefined;
  /** The person it was about, where known. */
  readonly userId?: string | undefined;
  readonly ip: string | null;
}

/** What an attempt in {@link attempting} gives when it failed: the change commits, and then the error is thrown. */
export class Refusal {
  readonly error: LegateError;
  constructor(error: LegateError) {
    this.error = error;
  }
}

/** Who signs in does not learn whether an address is known; who reads the ledger can tell one address from another, and find a known one. */
const emailHash = (email: string): string => hash('sha256', emailKey(email.toWellFormed()), 'hex');

/**
 * Puts `auth.failed` into the ledger: the person sees it, an unknown address is not named, the client's only where
 * `multiSession.trackIp` allows. Of attempts on unknown targets one a minute is an event; the others are counted, and logged as every
 * refusal is.
 */
export function refuse(
  platform: Platform,
  change: Change,
  { method, email, userId, ip }: Attempt,
  error: LegateError,
): Refusal {
  const counted = userId === undefined ? platform.strangerAttempts.record(method, change.now) : 0;
  if (counted === undefined) return new Refusal(error);
  const ipAddress = platform.config.multiSession.trackIp ? ip : null;
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
  return new Refusal(error);
}

/** A change that may also end in a {@link Refusal}: what it wrote and emitted is kept, and its error is thrown. */
export async function attempting<T>(
  platform: Platform,
  work: (change: Change) => Promise<T | Refusal>,
  by: Actor = UNKNOWN,
): Promise<T> {
  const outcome = await platform.ledger.change(by, work);
  if (outcome instanceof Refusal) throw outcome.error;
  return outcome;
}
