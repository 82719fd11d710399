import { randomBytes } from 'node:crypto';
import type { Enterprise, Workload } from '../../access/principal.ts';
import type { Branded } from '../../kernel/branded.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Platform } from '../../platform.ts';
import { keyRing, type SigningKey } from './keys.ts';

/** The current actor, with the previous actors nested (RFC 8693, section 4.1). */
export interface Act {
  readonly sub: Id<'agent'>;
  readonly act?: Act;
}

/** Id of an access token: `<grant id>.<random>`. */
export type Jti = Branded<string, 'Jti'>;

/** Claims of an access token (specification 2.9, contract 12.3; RFC 9068). Times are seconds. */
export interface Claims {
  readonly iss: string;
  /** The agent. */
  readonly sub: Id<'agent'>;
  readonly aud: string;
  readonly client_id: Id<'client'>;
  /** Space-separated. */
  readonly scope: string;
  readonly iat: number;
  readonly exp: number;
  /** Starts with the id of the grant; the token ends with it. */
  readonly jti: Jti;
  /** The person for whom the agent acts. */
  readonly user_id: Id<'user'>;
  readonly act?: Act;
  /** The workload whose assertion was exchanged for the token (contract 23.4). */
  readonly workload?: Workload;
  /** The identity provider that allowed the token in place of the person (contract 23.5). */
  readonly enterprise?: Enterprise;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export const newJti = (grantId: Id<'grant'>): Jti => `${grantId}.${randomBytes(12).toString('base64url')}` as Jti;
export const grantOfJti = (jti: Jti): Id<'grant'> => asId('grant', jti.slice(0, Math.max(0, jti.indexOf('.'))));

export function signAccessToken(platform: Pick<Platform, 'config' | 'secrets' | 'stateOf'>, claims: Claims): string {
  const { current } = keyRing(platform);
  const input = `${current.header}.${encode(claims)}`;
  return `${input}.${current.sign(input)}`;
}

const MAX_TOKEN_CHARS = 8192;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Returns the claims of an access token that this service signed and that has not expired, or why it is refused. The
 * key determines the algorithm, not the token; `typ` excludes tokens made for other purposes (RFC 8725, section 3.11).
 * `checkLiveToken` also checks the grant.
 */
export function checkAccessToken(
  platform: Pick<Platform, 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  token: string,
  now: number,
): Claims | RefusalReason {
  if (token.length > MAX_TOKEN_CHARS) return 'access-token-malformed';
  const [header, payload, signature, extra] = token.split('.');
  if (
    !header ||
    !payload ||
    !signature ||
    extra !== undefined ||
    !BASE64URL.test(header) ||
    !BASE64URL.test(payload) ||
    !BASE64URL.test(signature)
  )
    return 'access-token-malformed';
  const ring = keyRing(platform);
  const key = header === ring.current.header ? ring.current : findKey(header, ring.byId);
  const bytes = Buffer.from(signature, 'base64url');
  // Exactly one encoding of a signature is accepted: the unused bits of base64url must be zero.
  if (!key?.verify(`${header}.${payload}`, bytes) || bytes.toString('base64url') !== signature)
    return 'access-token-signature';
  const claims = parse(payload) as Partial<Claims> | undefined;
  if (
    !claims ||
    claims.iss !== platform.issuer ||
    typeof claims.sub !== 'string' ||
    typeof claims.jti !== 'string' ||
    typeof claims.aud !== 'string' ||
    typeof claims.exp !== 'number' ||
    typeof claims.scope !== 'string' ||
    typeof claims.client_id !== 'string'
  )
    return 'access-token-malformed';
  return now >= claims.exp * SECOND_MS ? 'access-token-expired' : (claims as Claims);
}

/** Like `checkAccessToken`; returns undefined for every text that is refused. */
export function readAccessToken(
  platform: Pick<Platform, 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  token: string,
  now: number,
): Claims | undefined {
  const claims = checkAccessToken(platform, token, now);
  return typeof claims === 'string' ? undefined : claims;
}

/** Returns whether the text claims this service as its issuer. Verifies nothing. */
export function looksLikeAccessToken({ issuer }: Pick<Platform, 'issuer'>, token: string): boolean {
  const [header, payload, signature, extra] = token.split('.');
  if (token.length > MAX_TOKEN_CHARS || !header || !payload || !signature || extra !== undefined) return false;
  return (parse(payload) as Partial<Claims> | undefined)?.iss === issuer;
}

/** Returns the claims in a text of the form of an access token. Verifies nothing. */
export function claimsOf(token: string): Claims | undefined {
  const claims = parse(token.split('.')[1] ?? '') as Partial<Claims> | undefined;
  return typeof claims?.jti === 'string' && typeof claims.scope === 'string' ? (claims as Claims) : undefined;
}

function findKey(header: string, byId: ReadonlyMap<string, SigningKey>): SigningKey | undefined {
  const named = parse(header) as { alg?: unknown; typ?: unknown; kid?: unknown; crit?: unknown } | undefined;
  if (
    !named ||
    named.crit !== undefined ||
    (named.typ !== 'at+jwt' && named.typ !== 'application/at+jwt') ||
    typeof named.kid !== 'string'
  )
    return undefined;
  const key = byId.get(named.kid);
  return key?.alg === named.alg ? key : undefined;
}

function parse(part: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
