import type { Answer } from '../../http/route.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { createSession, type Device, startCookie } from '../sessions/index.ts';
import type { RequestSession } from '../users/prove-address.ts';
import type { User } from '../users/schema.ts';
import { toUser } from '../users/store.ts';
import { createOneTimeToken } from './one-time-token.ts';
import { SECOND_STEP_MS } from './second-step.ts';
import { isTrustedDevice, readDeviceToken } from './trusted-device.ts';

/** Where a sign-in comes from, and what its browser may already have proved. */
export interface SignInDevice extends Device {
  /** Value of the cookie that {@link trustDevice} set. */
  readonly deviceToken?: string | undefined;
  /** Of this browser, at a sign-in by mail: who is signed in already keeps what they set up. */
  readonly session?: RequestSession | undefined;
}

/** How somebody signs in: in the event, and carried over to the second step. */
export interface FirstStep {
  readonly method: 'sign-up' | 'setup' | 'password' | 'magic-link' | 'email-otp';
  /** false: the browser forgets the cookie when it closes. */
  readonly rememberMe: boolean;
}

export interface SignedInResult {
  readonly token: string;
  readonly user: User;
  readonly rememberMe: boolean;
}

export interface SecondFactorRequired {
  readonly twoFactorRequired: true;
  readonly twoFactorMethods: ['totp'];
  readonly twoFactorToken: string;
}

export type SignInResult = SignedInResult | SecondFactorRequired;

/** A new session with its `auth.signin` in the same change, whatever proved the person. `method` as in the event: `password`, `password+totp`. */
export async function startSession(
  platform: Platform,
  change: Change,
  row: UserRow,
  method: string,
  rememberMe: boolean,
  device: Device,
): Promise<SignedInResult> {
  const { token } = await createSession(platform, change, row.id, device, method);
  return { token, user: toUser(row), rememberMe };
}

/**
 * What follows on a first step that was right: a session, or, where the person has a second factor and the browser is not
 * trusted, a token for the second step and no session yet.
 */
export async function finishSignIn(
  platform: Platform,
  change: Change,
  row: UserRow,
  step: FirstStep,
  device: SignInDevice,
): Promise<SignInResult> {
  if (row.two_factor_enabled === 1 && !(await isTrustedDevice(change.db, change.now, row.id, device.deviceToken))) {
    const twoFactorToken = await createOneTimeToken(change, 'two-factor', row.id, SECOND_STEP_MS, { ...step });
    return { twoFactorRequired: true, twoFactorMethods: ['totp'], twoFactorToken };
  }
  return startSession(platform, change, row, step.method, step.rememberMe, device);
}

/** What a request says about where a sign-in comes from. */
export const signInDevice = (platform: Platform, call: Device & { readonly request: Request }): SignInDevice => ({
  ip: call.ip,
  userAgent: call.userAgent,
  deviceToken: readDeviceToken(platform, call.request),
});

/** 200, with the session as cookie when there is one already. */
export function answerSignIn(
  platform: Platform,
  result: SignInResult,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  if ('twoFactorRequired' in result) return { status: 200, body: result };
  return {
    status: 200,
    body: { token: result.token, user: result.user },
    headers: { ...startCookie(platform, result.token, result.rememberMe), ...headers },
  };
}
