import { MINUTE_MS } from '../../../kernel/clock.ts';
import type { Platform } from '../../../platform.ts';

/** Lifetime of a challenge, and the time that a browser has for the answer. */
export const CHALLENGE_MS = 5 * MINUTE_MS;

/** ES256 and RS256, which every authenticator has between them (RFC 9053, RFC 8812). */
export const ALGORITHMS = [-7, -257];

/** Returns the relying party id: the host of the public address. */
export const relyingPartyId = ({ baseUrl }: Pick<Platform, 'baseUrl'>): string => new URL(baseUrl).hostname;

/** Returns the only origin on which passkeys of this service are used. */
export const relyingPartyOrigin = ({ baseUrl }: Pick<Platform, 'baseUrl'>): string => new URL(baseUrl).origin;

/** Returns whether browsers allow passkeys for the public address: a domain, over https or on this computer. */
export function hasPasskeys({ baseUrl }: Pick<Platform, 'baseUrl'>): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  const isAddress = /^[\d.]+$/.test(hostname) || hostname.startsWith('[');
  return !isAddress && (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost'));
}

type WebAuthn = Pick<
  typeof import('@simplewebauthn/server'),
  | 'generateRegistrationOptions'
  | 'verifyRegistrationResponse'
  | 'generateAuthenticationOptions'
  | 'verifyAuthenticationResponse'
> &
  Pick<typeof import('@simplewebauthn/server/helpers'), 'decodeAttestationObject'>;

/** Imported at first use, because it takes longer to load than the rest of the service. */
export async function loadWebAuthn(): Promise<WebAuthn> {
  const [{ decodeAttestationObject }, server] = await Promise.all([
    import('@simplewebauthn/server/helpers'),
    import('@simplewebauthn/server'),
  ]);
  return { ...server, decodeAttestationObject };
}

/** What the browser states about a ceremony. */
interface ClientData {
  readonly challenge?: unknown;
  readonly crossOrigin?: unknown;
}

/**
 * Returns the challenge that an answer names. Returns undefined if the answer is not readable or was given in a frame
 * of another origin, where this service is never shown.
 */
export function challengeIn(clientDataJSON: string): string | undefined {
  try {
    const data = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8')) as ClientData | null;
    return typeof data?.challenge === 'string' && data.crossOrigin !== true ? data.challenge : undefined;
  } catch {
    return undefined;
  }
}
