import { SECOND_MS } from '../../../kernel/clock.ts';
import { LegateError } from '../../../kernel/errors.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { requester, SessionErrors } from '../../sessions/index.ts';
import {
  FailedAttempt,
  finishSignIn,
  recordFailure,
  type SignInDevice,
  type SignInResult,
  startSession,
  withSignInAudit,
} from '../../users/index.ts';
import { IssuerErrors } from '../errors.ts';
import type { Issuer } from '../schema.ts';
import { getConfirmingIssuer } from '../store.ts';
import { useKeyOnce } from '../used-assertions.ts';
import { applyMapping } from './apply-mapping.ts';
import { type Pending, readPending } from './begin-sign-in.ts';
import { confirmIdentity } from './confirm-identity.ts';
import { findAccount } from './find-account.ts';
import type { Identity } from './identity.ts';
import { assertNotEnded, sessionHash } from './provider-logout.ts';

interface Completed {
  readonly result: SignInResult;
  readonly returnTo: string | undefined;
}

/**
 * Completes a sign-in with the callback of a provider. Each callback works once, in the browser that began the sign-in.
 * A person without an account and a suspended person get the same answer. Throws 400 SIGN_IN_EXPIRED, 401
 * SIGN_IN_NOT_CONFIRMED, 403 SIGN_IN_REFUSED, 404 ISSUER_NOT_FOUND, 429 SESSION_LIMIT_REACHED, 503
 * PROVIDER_UNAVAILABLE.
 */
export async function completeProviderSignIn(
  platform: Platform,
  asked: Issuer,
  request: Request,
  search: string,
  device: SignInDevice,
): Promise<Completed> {
  const method = `oidc:${asked.name}` as const;
  const attempt = { method, ip: device.ip };
  const pending = readPending(platform, asked, request);
  const state = new URLSearchParams(search).getAll('state');
  const used = pending && state.length === 1 && state[0] === pending.state ? pending : undefined;
  const began = await withSignInAudit<Pending & { readonly cameBackAt: number }>(platform, async (change) =>
    used && (await useKeyOnce(platform.database, change.db, ['provider-sign-in', used.state], used.expiresAt))
      ? { ...used, cameBackAt: change.now }
      : recordFailure(platform, change, attempt, IssuerErrors.SIGN_IN_EXPIRED()),
  );
  const identity = await confirmIdentity(platform, asked, began, search);
  const finish = async (change: Change): Promise<Completed | FailedAttempt> => {
    const issuer = await getConfirmingIssuer(platform, change.db, asked);
    const found = await findAccount(platform, change, issuer, identity);
    if (!found || found.suspended_at !== null) {
      const error = IssuerErrors.SIGN_IN_REFUSED({ reason: found ? 'owner-suspended' : 'person-unknown' });
      return recordFailure(platform, change, { ...attempt, userId: found?.id }, error);
    }
    await assertNotEnded(change, issuer, identity, began.cameBackAt);
    const provider = { issuer: issuer.issuer, sessionHash: sessionHash(identity.claims['sid']) };
    const row = await applyMapping(platform, change, found, issuer, identity);
    const signedIn = hasSecondFactor(issuer, identity)
      ? startSession(platform, change, row, `${method}+provider`, true, device, {
          authTime: authTime(identity, platform.clock.now()),
          bothFactors: true,
          provider,
        })
      : finishSignIn(platform, change, row, { method, rememberMe: true, provider }, device);
    // Without room for a session, the role and tenant still follow the claims.
    const result = await signedIn.catch((error: unknown) => {
      if (!(error instanceof LegateError) || error.code !== SessionErrors.SESSION_LIMIT_REACHED.code) throw error;
      return new FailedAttempt(error);
    });
    return result instanceof FailedAttempt ? result : { result, returnTo: began.returnTo ?? undefined };
  };
  return withSignInAudit(platform, finish, requester(platform, device.ip));
}

/** Returns whether the provider confirms a second factor with a value that the issuer's settings accept. */
function hasSecondFactor({ secondFactors = [] }: Issuer, { claims: { acr, amr } }: Identity): boolean {
  const values: unknown[] = Array.isArray(amr) ? [acr, ...amr] : [acr];
  return secondFactors.some((value) => values.includes(value));
}

/** Returns when the person authenticated at the provider; 0 if the provider does not state it. */
const authTime = ({ claims: { auth_time } }: Identity, now: number): number =>
  typeof auth_time === 'number' && auth_time > 0 ? Math.min(now, Math.floor(auth_time) * SECOND_MS) : 0;
