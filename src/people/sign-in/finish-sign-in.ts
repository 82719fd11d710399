import type { PlainText } from '../../kernel/branded.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import type { Change } from '../../ledger/index.ts';
import { statedLanguage } from '../../pages/index.ts';
import type { Answer } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import {
  createSession,
  type Device,
  isSecondFactorDue,
  type Proof,
  type ProviderSession,
  startCookie,
} from '../sessions/index.ts';
import type { RequestSession } from '../users/mark-email-verified.ts';
import type { User } from '../users/schema.ts';
import { toUser } from '../users/store.ts';
import { knownDeviceCookie, knownDeviceOf, readKnownDevice } from './attempts/known-device.ts';
import { createOneTimeToken } from './one-time-token.ts';
import { SECOND_STEP_MS } from './second-step.ts';
import { isTrustedDevice, readDeviceToken } from './trusted-device.ts';

/** `auth_time` of a session whose user has not authenticated with all factors. */
export const NEVER = 0;

/** The client of a sign-in, and what its browser can already prove. */
export interface SignInDevice extends Device {
  /** Value of the cookie set by {@link trustDevice}. */
  readonly deviceToken?: string | undefined;
  /** Session of this browser, for sign-ins by mail: a user who is signed in keeps what they set up. */
  readonly session?: RequestSession | undefined;
  /** Value of the cookie set by {@link knownDeviceCookie}. */
  readonly knownDevice?: string | undefined;
}

/** The first step of a sign-in: recorded in the event, and kept for the second step. */
export interface FirstStep {
  readonly method: 'sign-up' | 'setup' | 'password' | 'magic-link' | 'email-otp' | `oidc:${string}`;
  /** false: the browser deletes the cookie when it closes. */
  readonly rememberMe: boolean;
  readonly provider?: ProviderSession;
  /** A trusted address, to which the second step redirects the browser. */
  readonly callbackUrl?: string | undefined;
}

export interface SignedInResult {
  readonly token: PlainText;
  readonly user: User;
  readonly rememberMe: boolean;
  /** The session can only set up a second factor and sign out. */
  readonly secondFactorDue: boolean;
  /** Set-Cookie values that mark this browser as known. */
  readonly cookies: readonly string[];
}

export interface SecondFactorRequired {
  readonly twoFactorRequired: true;
  readonly twoFactorMethods: ['totp'];
  readonly twoFactorToken: string;
}

export type SignInResult = SignedInResult | SecondFactorRequired;

/**
 * Creates a session and emits `auth.signin` in the same change.
 * @param method as in the event: `password`, `password+totp`
 */
export async function startSession(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'secrets'>,
  change: Change,
  row: UserRow,
  method: string,
  rememberMe: boolean,
  device: SignInDevice,
  proof: Proof = {},
): Promise<SignedInResult> {
  // An invitation may be for the address of a suspended person.
  if (row.suspended_at !== null) throw invalidCredential('owner-suspended');
  const { token, session } = await createSession(platform, change, row.id, device, method, proof);
  // If the session ends when the browser closes, the browser keeps no cookie that identifies the person.
  const forgets = !rememberMe || knownDeviceOf(platform, row, device.knownDevice) !== undefined;
  const cookies = forgets ? [] : [knownDeviceCookie(platform, row)];
  const secondFactorDue = isSecondFactorDue(platform, row, session);
  return { token, user: toUser(row), rememberMe, secondFactorDue, cookies };
}

/**
 * Completes a successful first step: returns a session or, if the user has a second factor and the browser is not
 * trusted, a token for the second step.
 */
export async function finishSignIn(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'secrets'>,
  change: Change,
  row: UserRow,
  step: FirstStep,
  device: SignInDevice,
): Promise<SignInResult> {
  const { method, rememberMe, provider } = step;
  if (row.two_factor_enabled !== 1)
    return startSession(platform, change, row, method, rememberMe, device, { provider });
  if (!(await isTrustedDevice(change.db, change.now, row.id, device.deviceToken))) {
    const twoFactorToken = await createOneTimeToken(change, 'two-factor', row.id, SECOND_STEP_MS, { ...step });
    return { twoFactorRequired: true, twoFactorMethods: ['totp'], twoFactorToken };
  }
  // The trusted device replaced the second factor, so actions that need a recent authentication ask for a code.
  return startSession(platform, change, row, method, rememberMe, device, { authTime: NEVER, provider });
}

/** Returns the client of a request. */
export const deviceOf = (call: Omit<Device, 'language'> & { readonly request: Request }): Device => ({
  ip: call.ip,
  userAgent: call.userAgent,
  language: statedLanguage(call.request),
});

/** Returns what is known about the client of a sign-in from its request. */
export const signInDevice = (
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  call: Omit<Device, 'language'> & { readonly request: Request },
): SignInDevice => ({
  ...deviceOf(call),
  deviceToken: readDeviceToken(platform, call.request),
  knownDevice: readKnownDevice(platform, call.request),
});

/** Answers 200, with the session cookie if the sign-in is complete. */
export function answerSignIn(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  result: SignInResult,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  if ('twoFactorRequired' in result) return { status: 200, body: result };
  return {
    status: 200,
    body: {
      token: result.token,
      user: result.user,
      ...(result.secondFactorDue ? { secondFactorSetupRequired: true } : {}),
    },
    headers: { ...startCookie(platform, result.token, result.rememberMe), ...headers },
    cookies: result.cookies,
  };
}
