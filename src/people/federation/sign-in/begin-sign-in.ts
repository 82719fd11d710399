import {
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { MINUTE_MS } from '../../../kernel/clock.ts';
import { type Encrypted, seal, unseal } from '../../../kernel/encryption.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import { browserCookie } from '../../sign-in/browser-cookie.ts';
import type { Issuer } from '../schema.ts';
import { GITHUB_SCOPE } from './github.ts';
import { getProvider } from './provider.ts';

/** Time that a person has to sign in at the provider. */
const LIFETIME_MS = 10 * MINUTE_MS;
const PURPOSE = 'provider sign-in';
/** Cookies hold 4 kB. */
const MAX_RETURN_TO_CHARS = 2000;

/** Binds a sign-in to the browser that began it. A browser can complete only the last sign-in that it began. */
export const pendingCookie = browserCookie('provider_sign_in', LIFETIME_MS);

/** A sign-in that was begun, kept encrypted in a cookie of the browser. */
export interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Path on this origin. */
  readonly returnTo: string | null;
  readonly expiresAt: number;
  /** The user whose account is connected; undefined for a sign-in. */
  readonly connectTo?: Id<'user'>;
}

/** The address to which the provider redirects, the same in both of its requests. */
export const callbackAddress = ({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>, { name }: Issuer): string =>
  `${baseUrl}${config.http.restPath.replace(/\/$/, '')}/auth/oidc/${name}/callback`;

/**
 * Begins a sign-in. Returns the address of the provider's page and the cookie that the callback needs. OpenID Connect
 * Core 1.0, section 3.1.2.1; RFC 7636. With `connectTo` the callback connects the person to the account of this user,
 * who must be signed in at that time. Throws 503 PROVIDER_UNAVAILABLE.
 */
export async function beginSignIn(
  platform: Platform,
  issuer: Issuer,
  returnTo: string | undefined,
  connectTo?: Id<'user'>,
): Promise<{ readonly location: string; readonly cookie: string }> {
  const { client } = await getProvider(platform, issuer);
  const pending: Pending = {
    state: randomState(),
    nonce: randomNonce(),
    verifier: randomPKCECodeVerifier(),
    returnTo: returnTo !== undefined && returnTo.length <= MAX_RETURN_TO_CHARS ? returnTo : null,
    expiresAt: platform.clock.now() + LIFETIME_MS,
    ...(connectTo === undefined ? {} : { connectTo }),
  };
  const location = buildAuthorizationUrl(client, {
    redirect_uri: callbackAddress(platform, issuer),
    scope: issuer.preset === 'github' ? GITHUB_SCOPE : 'openid email profile',
    response_type: 'code',
    state: pending.state,
    ...(issuer.preset === 'github' ? {} : { nonce: pending.nonce }),
    code_challenge: await calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
  });
  const value = seal(platform.secrets().cookie, PURPOSE, issuer.id, JSON.stringify(pending));
  return { location: location.href, cookie: pendingCookie.set(platform, value) };
}

/** Returns the sign-in that this browser began with this issuer; undefined if there is none, or it has expired. */
export function readPending(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'secrets'>,
  issuer: Issuer,
  request: Request,
): Pending | undefined {
  const value = pendingCookie.read(platform, request);
  if (value === undefined) return undefined;
  try {
    const pending = JSON.parse(unseal(platform.secrets().cookie, PURPOSE, issuer.id, value as Encrypted)) as Pending;
    return platform.clock.now() < pending.expiresAt ? pending : undefined;
  } catch {
    return undefined;
  }
}
