import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Platform } from '../../platform.ts';
import { keysOf } from './issuer-keys.ts';
import type { Issuer } from './schema.ts';
import { findIssuer } from './store.ts';
import type { Unverified } from './unverified.ts';
import { type AssertionClaims, verifyAssertion } from './verify-assertion.ts';

/**
 * Verifies an assertion of an issuer that is enabled for a use, like {@link verifyAssertion}. The issuer may be removed
 * while its keys are fetched, so a change that relies on the assertion looks the issuer up again. Returns the reason if
 * it is refused.
 */
export async function verifyIssued(
  platform: Pick<Platform, 'clock' | 'database' | 'log' | 'stateOf'>,
  assertion: Unverified,
  use: Issuer['uses'][number],
): Promise<{ readonly issuer: Issuer; readonly claims: AssertionClaims } | RefusalReason> {
  const found = await findIssuer(platform, platform.database.read, { issuer: assertion.issuer, use });
  if (!found) return 'assertion-issuer';
  const { issuer, algorithms, jwksUri } = found;
  const keys = keysOf(platform, jwksUri === undefined ? { issuer } : { jwksUri });
  const claims = await verifyAssertion(assertion, { issuer, algorithms, keys, now: platform.clock.now() });
  return typeof claims === 'string' ? claims : { issuer: found, claims };
}
