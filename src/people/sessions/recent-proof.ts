import { asUser, type Principal } from '../../access/principal.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import { asId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { SessionErrors } from './errors.ts';

/** Time for which an authentication with all factors counts as recent. */
const RECENT_MS = 15 * MINUTE_MS;

interface CallOfPerson<T> {
  readonly principal: Principal;
  readonly reauthorize: (db: Db) => Promise<T>;
}

/**
 * Replaces a call's `reauthorize` for actions through which a stolen session would gain lasting access. A user with a
 * second factor must have used it recently, and a user with passkeys must have signed in with one recently, since the
 * password alone proves less: 403 REAUTHENTICATION_REQUIRED. API tokens pass, and so do users without both.
 */
export const withRecentProof =
  <T>(platform: Pick<Platform, 'clock'>, call: CallOfPerson<T>) =>
  async (db: Db): Promise<T> => {
    const answer = await call.reauthorize(db);
    const proof = await findProof(platform, db, call.principal);
    if (proof && !proof.isRecent && (proof.hasSecondFactor || proof.hasPasskey)) throw missing(proof);
    return answer;
  };

/**
 * Replaces a call's `reauthorize` for changes of sign-in methods that do not ask for a password. Every user must have
 * signed in recently, with all their factors: 403 REAUTHENTICATION_REQUIRED.
 */
export const withRecentSignIn =
  <T>(platform: Pick<Platform, 'clock'>, call: CallOfPerson<T>) =>
  async (db: Db): Promise<T> => {
    const answer = await call.reauthorize(db);
    const proof = await findProof(platform, db, call.principal);
    if (proof && !proof.isRecent) throw missing(proof);
    return answer;
  };

interface Proof {
  readonly hasSecondFactor: boolean;
  readonly hasPasskey: boolean;
  /** Returns whether all factors of the user were proved in the session recently. */
  readonly isRecent: boolean;
}

const missing = ({ hasSecondFactor, hasPasskey }: Proof) =>
  hasSecondFactor ? codeRequired() : signInRequired(hasPasskey ? '/passkeys/sign-in/options' : '/sign-in');

/** Returns undefined for credentials other than sessions. */
async function findProof({ clock }: Pick<Platform, 'clock'>, db: Db, caller: Principal): Promise<Proof | undefined> {
  const { via, credentialId } = asUser(caller);
  if (via !== 'session' || credentialId === null) return undefined;
  const row = await db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.auth_time', 'sessions.both_factors', 'users.two_factor_enabled'])
    .select((eb) =>
      eb
        .selectFrom('passkeys')
        .select('passkeys.id')
        .whereRef('passkeys.user_id', '=', 'users.id')
        .limit(1)
        .as('passkey_id'),
    )
    .where('sessions.id', '=', asId('session', credentialId))
    .executeTakeFirst();
  if (!row) throw invalidCredential('principal-ended');
  const hasSecondFactor = row.two_factor_enabled === 1;
  const hasPasskey = row.passkey_id !== null;
  // `second_factor_at` is set by a code of the app, but also by the password of a user who has only passkeys.
  const isStrong = hasSecondFactor || !hasPasskey || row.both_factors === 1;
  return { hasSecondFactor, hasPasskey, isRecent: isStrong && clock.now() - row.auth_time <= RECENT_MS };
}

const codeRequired = () =>
  SessionErrors.REAUTHENTICATION_REQUIRED({ details: { method: 'POST', path: '/totp/verify' } });

const signInRequired = (path: '/sign-in' | '/passkeys/sign-in/options') =>
  SessionErrors.REAUTHENTICATION_REQUIRED({
    message:
      path === '/sign-in'
        ? 'This action needs a sign-in within the last 15 minutes. Sign in again, then repeat the request.'
        : 'This account has passkeys. Sign in with one of them, then repeat the request.',
    details: { method: 'POST', path },
  });
