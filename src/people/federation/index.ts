/**
 * Federation: the issuers of tokens that this service trusts, their keys, and the verification of their tokens.
 *
 * Guarantees: documents and keys are fetched with the guarded fetch only; a token is refused if the keys cannot be
 * fetched; an unknown key id causes at most one fetch in 30 s; only asymmetric algorithms are accepted; an assertion is
 * accepted once, across all instances.
 *
 * `sign-in/` signs people in through an issuer (OpenID Connect Core 1.0, authorization code flow). The grants that
 * exchange assertions for access tokens are in `src/oauth/token/grants`.
 */
import { defineModule } from '../../platform.ts';
import { resealClientSecrets } from './client-secrets.ts';
import { IssuerErrors } from './errors.ts';
import { removeIdentitiesOf } from './identities.ts';
import { issuerKeys } from './issuer-keys.ts';
import { noteIssuersOfConfiguration } from './removed-issuers.ts';
import { issuerRoutes } from './routes.ts';
import { endSessionsOfIssuer } from './sign-in/end-issuer.ts';
import { providers } from './sign-in/provider.ts';
import { signInRoutes } from './sign-in/routes.ts';
import { issuersOfConfiguration } from './store.ts';
import { deleteExpiredAssertions } from './used-assertions.ts';

export { type Connection, disconnect, listConnections } from './connections.ts';
export { IssuerErrors } from './errors.ts';
export { findUserOfAssertion, isEnterpriseManaged, isTrustedFor } from './identities.ts';
export { createKeyCache, type KeyCache, keysOf } from './issuer-keys.ts';
export { issuerOf, lostUses } from './lost-uses.ts';
export { ISSUER_ALGORITHMS, type Issuer } from './schema.ts';
export { beginSignIn } from './sign-in/begin-sign-in.ts';
export { findIssuer, getSignInIssuer, listSignInIssuers } from './store.ts';
export { readUnverified, type Unverified } from './unverified.ts';
export { useOnce } from './used-assertions.ts';
export { type AssertionClaims, LEEWAY_SECONDS, verifyAssertion } from './verify-assertion.ts';
export { verifyIssued } from './verify-issued.ts';

export const federation = defineModule({
  name: 'federation',
  description: 'Issuers of tokens that this service trusts, and signing in with them.',
  routes: [...issuerRoutes, ...signInRoutes],
  errors: IssuerErrors,
  states: [issuerKeys, issuersOfConfiguration, providers],
  start: noteIssuersOfConfiguration,
  upkeep: async (platform) => {
    await deleteExpiredAssertions(platform);
    await resealClientSecrets(platform);
  },
  reactions: {
    // Someone who set the account up before its address was verified may have connected an identity of theirs.
    'user.updated': async (change, events) => {
      for (const { userId, data } of events)
        if (userId !== undefined && data['reason'] === 'address-proved') await removeIdentitiesOf(change, userId);
    },
    'issuer.updated': async (change, events, platform) => {
      for (const event of events) await endSessionsOfIssuer(platform, change, event);
    },
    'issuer.deleted': async (change, events, platform) => {
      for (const event of events) await endSessionsOfIssuer(platform, change, event);
    },
  },
});
