import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, UnsecuredJWT } from 'jose';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { KeysUnavailable } from './issuer-keys.ts';
import { verifySignature } from './verify-signature.ts';

/** Clock skew that is accepted, in seconds. */
export const LEEWAY_SECONDS = 60;
const MAX_ASSERTION_CHARS = 16_384;
/** Header of a JWT without a signature. */
const NO_SIGNATURE = Buffer.from('{"alg":"none"}').toString('base64url');

/** The claims of an assertion whose signature is not verified yet. */
export interface Unverified {
  readonly issuer: string;
  readonly typ: string | undefined;
}

/** Returns the claims of a JWT without verifying it; undefined if the text is not a JWT with an issuer. */
export function readUnverified(assertion: string): Unverified | undefined {
  if (assertion.length > MAX_ASSERTION_CHARS) return undefined;
  try {
    const { typ } = decodeProtectedHeader(assertion);
    const { iss } = decodeJwt(assertion);
    return typeof iss === 'string'
      ? { issuer: iss, typ: typeof typ === 'string' ? typ.toLowerCase() : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The claims of RFC 7523, section 3, that every assertion has. Times are seconds. */
export interface AssertionClaims extends JWTPayload {
  readonly iss: string;
  readonly sub: string;
  readonly exp: number;
}

interface Expected {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly keys: JWTVerifyGetKey;
  readonly now: number;
  /** Largest accepted length of the assertion. */
  readonly maxChars?: number;
}

/**
 * Verifies signature, issuer and times of a JWT (RFC 7523, section 3; RFC 8725). The caller checks its audience and
 * that it is used once. Returns the reason if it is refused.
 */
export async function verifyAssertion(assertion: string, expected: Expected): Promise<AssertionClaims | RefusalReason> {
  const claims = await verifySigned(assertion, expected);
  if (typeof claims === 'string') return claims;
  const { sub } = claims;
  return typeof sub === 'string' && sub !== '' ? { ...claims, sub } : 'assertion-malformed';
}

/** The claims of any token that an issuer signed. Times are seconds. */
export interface SignedClaims extends JWTPayload {
  readonly iss: string;
  readonly exp: number;
}

/** Verifies like {@link verifyAssertion}, but a subject may be missing. */
export async function verifySigned(token: string, expected: Expected): Promise<SignedClaims | RefusalReason> {
  const { issuer, algorithms, keys, now, maxChars = MAX_ASSERTION_CHARS } = expected;
  if (token.length > maxChars) return 'assertion-malformed';
  try {
    const signed = await verifySignature(token, algorithms, keys);
    // The signature is verified, so jose only checks the claims.
    const { payload } = UnsecuredJWT.decode(`${NO_SIGNATURE}.${signed}.`, {
      issuer,
      requiredClaims: ['iss', 'exp', 'aud'],
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(now),
    });
    const { iss, exp, iat } = payload;
    if (typeof iss !== 'string' || typeof exp !== 'number') return 'assertion-malformed';
    if (iat !== undefined && iat > now / SECOND_MS + LEEWAY_SECONDS) return 'assertion-expired';
    return { ...payload, iss, exp };
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof KeysUnavailable) return 'assertion-keys-unavailable';
  if (error instanceof errors.JWTExpired) return 'assertion-expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'nbf' ? 'assertion-expired' : 'assertion-malformed';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return 'assertion-malformed';
  return 'assertion-signature';
}
