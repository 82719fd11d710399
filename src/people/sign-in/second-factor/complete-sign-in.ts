import { secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import {
  consumeOneTimeToken,
  type FirstStep,
  findOneTimeToken,
  findUser,
  recordFailure,
  type SignedInResult,
  type SignInDevice,
  startSession,
  trustDevice,
  UserErrors,
  withSignInAudit,
} from '../../users/index.ts';
import { knownDeviceOf } from '../attempts/known-device.ts';
import type { VerifyTotp } from './schema.ts';
import { useCode } from './use-code.ts';

/** Wrong codes after which a sign-in ends. */
const MAX_FAILURES_OF_TOKEN = 5;

/** A completed sign-in. `deviceCookie` is the Set-Cookie value of a newly trusted device. */
export interface SecondStepResult extends SignedInResult {
  readonly deviceCookie: string | undefined;
  /** Where the first step asked the browser to go. */
  readonly callbackUrl: string | undefined;
}

/** Returns the first step of a sign-in that waits for the second; undefined if it has ended. */
export async function findFirstStep(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  twoFactorToken: string,
): Promise<FirstStep | undefined> {
  const pending = await findOneTimeToken(database.read, clock.now(), 'two-factor', twoFactorToken);
  return pending && firstStepIn(pending.data);
}

const firstStepIn = (data: string): FirstStep => JSON.parse(data) as FirstStep;

/**
 * The second step of a sign-in, with a code of the app or a backup code. Each code works once, also for concurrent
 * requests. 401 INVALID_CODE for any failure, and for the whole sign-in after five wrong codes; 429 TOO_MANY_TRIES
 * after ten wrong codes in a row.
 */
export async function completeSignIn(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  input: VerifyTotp & { twoFactorToken: string },
  device: SignInDevice,
): Promise<SecondStepResult> {
  return withSignInAudit<SecondStepResult>(platform, async (change) => {
    const { db, now } = change;
    const pending = await findOneTimeToken(db, now, 'two-factor', input.twoFactorToken);
    const row = pending && (await findUser(db, pending.user_id));
    if (!row)
      return recordFailure(
        platform,
        change,
        { method: 'totp', ip: device.ip },
        UserErrors.INVALID_CODE({ reason: 'second-step-unknown' }),
      );
    const used = await useCode(platform, change, row.id, input.code, knownDeviceOf(platform, row, device.knownDevice));
    if (typeof used === 'object') {
      if (used.counts) await countFailure(change, input.twoFactorToken, pending.failures + 1);
      return recordFailure(
        platform,
        change,
        { method: used.method, email: row.email, userId: row.id, ip: device.ip },
        used.error,
      );
    }
    await consumeOneTimeToken(change, 'two-factor', input.twoFactorToken);
    const { method, rememberMe, provider, callbackUrl } = firstStepIn(pending.data);
    const deviceCookie = input.trustDevice ? await trustDevice(platform, change, row.id, device.userAgent) : undefined;
    return {
      ...(await startSession(platform, change, row, `${method}+${used}`, rememberMe, device, { provider })),
      deviceCookie,
      callbackUrl,
    };
  });
}

async function countFailure(change: Change, token: string, failures: number): Promise<void> {
  if (failures >= MAX_FAILURES_OF_TOKEN) await consumeOneTimeToken(change, 'two-factor', token);
  else
    await change.db
      .updateTable('one_time_tokens')
      .set({ failures })
      .where('token_hash', '=', secretHash(token))
      .execute();
}
