import { authorizationCodeGrant, type Configuration, fetchUserInfo } from 'openid-client';
import { GuardedFetchError } from '../../../operations/outbound/index.ts';
import type { Platform } from '../../../platform.ts';
import { emailKey } from '../../users/email.ts';
import { IssuerErrors } from '../errors.ts';
import { isSubject } from '../identities.ts';
import { keysOf } from '../issuer-keys.ts';
import type { Issuer } from '../schema.ts';
import { readUnverified } from '../unverified.ts';
import { verifyAssertion } from '../verify-assertion.ts';
import { callbackAddress, type Pending } from './begin-sign-in.ts';
import { confirmWithGitHub } from './github.ts';
import type { Identity, Provider } from './identity.ts';
import { getProvider, MAX_TOKEN_CHARS, providers } from './provider.ts';

const MAX_PROBLEM_CHARS = 200;

/**
 * Exchanges the code of a callback and verifies the ID token: signature with a key and an accepted algorithm of the
 * issuer, `iss`, `aud`, `azp`, `nonce`, times, and `state` and `iss` of the callback (OpenID Connect Core 1.0, sections
 * 3.1.2.7 and 3.1.3.7; RFC 9207, section 2.4). GitHub issues no ID tokens, so its API is called instead. Throws 401
 * SIGN_IN_NOT_CONFIRMED, 503 PROVIDER_UNAVAILABLE.
 */
export async function confirmIdentity(
  platform: Platform,
  issuer: Issuer,
  pending: Pending,
  search: string,
): Promise<Identity> {
  const provider = await getProvider(platform, issuer);
  const callback = new URL(callbackAddress(platform, issuer) + search);
  const checks = { pkceCodeVerifier: pending.verifier, expectedState: pending.state };
  try {
    if (issuer.preset === 'github')
      return await confirmWithGitHub(platform.stateOf(providers).fetch, provider, callback, checks);
    const answer = await authorizationCodeGrant(provider.client, callback, {
      ...checks,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    });
    const claims = await verifyIdToken(platform, issuer, provider, answer.id_token ?? '');
    const more = await readUserInfo(provider, issuer, claims, answer.access_token);
    return { subject: claims['sub'] as string, claims: joinClaims(claims, more) };
  } catch (error) {
    if (isUnavailable(error)) throw IssuerErrors.PROVIDER_UNAVAILABLE({ cause: error });
    const context = { issuer: issuer.name, problem: problemOf(error) };
    throw IssuerErrors.SIGN_IN_NOT_CONFIRMED({ cause: error, reason: 'identity-unconfirmed', context });
  }
}

/** Returns what is wrong, for the log: the message, the error code of the provider, and the claim that is wrong. */
function problemOf(error: unknown): string {
  const { message, error: code } = error as { readonly message?: unknown; readonly error?: unknown };
  let cause = error;
  while (cause instanceof Error) cause = cause.cause;
  const claim = (cause as { readonly claim?: unknown } | undefined)?.claim;
  const parts = [message, code, claim].filter((part) => typeof part === 'string');
  return parts.join(': ').slice(0, MAX_PROBLEM_CHARS);
}

async function verifyIdToken(
  platform: Pick<Platform, 'clock' | 'log' | 'stateOf'>,
  issuer: Issuer,
  { metadata }: Provider,
  token: string,
): Promise<Record<string, unknown>> {
  // Tokens of the same issuer for other purposes, such as a logout token, name another type (RFC 8725, section 3.11).
  const unverified = readUnverified(token, MAX_TOKEN_CHARS);
  if (!unverified || (unverified.typ !== undefined && !/^(application\/)?jwt$/.test(unverified.typ)))
    throw new Error('the token is not an ID token');
  const claims = await verifyAssertion(unverified, {
    issuer: issuer.issuer,
    algorithms: issuer.algorithms,
    keys: keysOf(platform, { jwksUri: issuer.jwksUri ?? metadata.jwks_uri ?? '' }),
    now: platform.clock.now(),
  });
  if (typeof claims === 'string') throw new Error(`the ID token is refused: ${claims}`);
  if (!isSubject(claims.sub)) throw new Error('the subject is malformed');
  return claims;
}

/** Reads the claims of the UserInfo endpoint if the ID token lacks one that is used. */
async function readUserInfo(
  { client, metadata }: { readonly client: Configuration; readonly metadata: Provider['metadata'] },
  { map = [], preset }: Issuer,
  claims: Readonly<Record<string, unknown>>,
  accessToken: string,
): Promise<Record<string, unknown>> {
  const used = ['email', preset === 'microsoft' ? 'xms_edov' : 'email_verified', ...map.map(({ claim }) => claim)];
  if (metadata.userinfo_endpoint === undefined || used.every((claim) => Object.hasOwn(claims, claim))) return {};
  return { ...(await fetchUserInfo(client, accessToken, claims['sub'] as string)) };
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns the claims of the ID token, completed with those of UserInfo. `email_verified` is about the address in its
 * own document (OpenID Connect Core 1.0, section 5.1), so if the documents do not have the same address, all claims
 * about it come from one document: the ID token if it has an address, otherwise UserInfo.
 */
function joinClaims(idToken: Claims, userInfo: Claims): Claims {
  const joined = { ...userInfo, ...idToken };
  if (isSameAddress(idToken['email'], userInfo['email'])) return joined;
  const { email, email_verified, xms_edov } = Object.hasOwn(idToken, 'email') ? idToken : userInfo;
  return { ...joined, email, email_verified, xms_edov };
}

const isSameAddress = (one: unknown, other: unknown): boolean =>
  typeof one === 'string' && typeof other === 'string' && emailKey(one) === emailKey(other);

function isUnavailable(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof GuardedFetchError) return true;
  return false;
}
