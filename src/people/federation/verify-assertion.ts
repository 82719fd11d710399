import type { JWTPayload } from 'jose';
import { SECOND_MS } from '../../kernel/clock.ts';
import { isCleanText } from '../../kernel/json.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { FindKey } from './issuer-keys.ts';
import type { Unverified } from './unverified.ts';
import { verifySignature } from './verify-signature.ts';

/** Clock skew that is accepted, in seconds. */
export const LEEWAY_SECONDS = 60;

/** The last second that a date can have (ECMA-262, section 21.4.1.1). */
const LAST_SECOND = 8_640_000_000_000;

/** The claims of RFC 7523, section 3, that every assertion has. Times are seconds. */
export interface AssertionClaims extends JWTPayload {
  readonly iss: string;
  readonly sub: string;
  readonly exp: number;
}

interface Expected {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly keys: FindKey;
  readonly now: number;
}

/**
 * Verifies signature, issuer and times of a JWT (RFC 7523, section 3; RFC 8725). The caller checks its audience and
 * that it is used once. Returns the reason if it is refused.
 */
export async function verifyAssertion(
  assertion: Unverified,
  expected: Expected,
): Promise<AssertionClaims | RefusalReason> {
  const claims = await verifySigned(assertion, expected);
  if (typeof claims === 'string') return claims;
  const { sub } = claims;
  return typeof sub === 'string' && sub !== '' ? (claims as AssertionClaims) : 'assertion-malformed';
}

/** The claims of any token that an issuer signed. Times are seconds. */
export interface SignedClaims extends JWTPayload {
  readonly iss: string;
  /** A text that the database can compare. */
  readonly sub?: string;
  readonly exp: number;
}

/** Verifies like {@link verifyAssertion}, but a subject may be missing. */
export async function verifySigned(token: Unverified, expected: Expected): Promise<SignedClaims | RefusalReason> {
  const { issuer, algorithms, keys, now } = expected;
  const refused = (await verifySignature(token, algorithms, keys)) ?? whyRefused(token.claims, issuer, now);
  return refused ?? (token.claims as SignedClaims);
}

/** RFC 7519, sections 4.1.1, 4.1.2 and 4.1.4 to 4.1.6. The caller compares the audience, which has to be there. */
function whyRefused(claims: Unverified['claims'], issuer: string, now: number): RefusalReason | undefined {
  const { iss, sub, aud, exp, nbf, iat } = claims;
  if (iss !== issuer || aud === undefined) return 'assertion-malformed';
  if (sub !== undefined && !(typeof sub === 'string' && isCleanText(sub))) return 'assertion-malformed';
  if (typeof exp !== 'number' || exp > LAST_SECOND) return 'assertion-malformed';
  if (iat !== undefined && typeof iat !== 'number') return 'assertion-malformed';
  const seconds = Math.floor(now / SECOND_MS);
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds + LEEWAY_SECONDS)) return 'assertion-expired';
  if (exp <= seconds - LEEWAY_SECONDS) return 'assertion-expired';
  return iat !== undefined && iat > now / SECOND_MS + LEEWAY_SECONDS ? 'assertion-expired' : undefined;
}
