/**
 * Federation: the issuers of tokens that this service trusts, their keys, and the check of what they signed.
 *
 * Guarantees: documents and keys are read with the guarded fetch only; what cannot be fetched refuses; an unknown key
 * id causes at most one fetch in 30 s; only asymmetric algorithms are accepted; an assertion is used once over all
 * instances.
 *
 * What an accepted assertion leads to is elsewhere: access tokens in `src/oauth/token/grants`.
 */
import { defineModule } from '../../platform.ts';
import { IssuerErrors } from './errors.ts';
import { issuerKeys } from './issuer-keys.ts';
import { issuerRoutes } from './routes.ts';
import { deleteExpiredAssertions } from './used-assertions.ts';

export { findUserOfAssertion, isEnterpriseManaged } from './identities.ts';
export { createKeyCache, keysOf } from './issuer-keys.ts';
export { ISSUER_ALGORITHMS, type Issuer } from './schema.ts';
export { findIssuer } from './store.ts';
export { useOnce } from './used-assertions.ts';
export { type AssertionClaims, LEEWAY_SECONDS, readUnverified, verifyAssertion } from './verify-assertion.ts';

export const federation = defineModule({
  name: 'federation',
  description: 'Issuers of tokens that this service trusts.',
  routes: issuerRoutes,
  errors: IssuerErrors,
  states: [issuerKeys],
  upkeep: deleteExpiredAssertions,
});
