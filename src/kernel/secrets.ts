import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Derived, PlainText } from './branded.ts';

/**
 * Secrets that Legate issues: `<prefix>_`, 43 characters of base64url (256 random bits), and a checksum of 6
 * characters. The prefix lets secret scanners find leaks. The checksum rejects a mistyped secret without a query. Only
 * the SHA-256 of a secret is stored; with 256 random bits a slow hash would add no protection.
 */
export const SECRET_PREFIXES = {
  agentToken: 'lgt',
  apiToken: 'lgk',
  sessionToken: 'lgs',
  setupToken: 'lgu',
  clientSecret: 'lgc',
  authorizationCode: 'lga',
  refreshToken: 'lgr',
  deviceCode: 'lgv',
  streamTicket: 'lge',
  /** In links, and between the two steps of a sign-in. Can be used once. */
  oneTimeToken: 'lgo',
  /** Identifies a browser that skips the second factor until the token expires. */
  deviceToken: 'lgd',
} as const;

export type SecretKind = keyof typeof SECRET_PREFIXES;

const BODY_CHARS = 43;
const CHECKSUM_CHARS = 6;

const checksum = (text: string): string => hash('sha256', `legate-checksum${text}`, 'hex').slice(0, CHECKSUM_CHARS);

/** Creates a secret. Show it once and store only its {@link secretHash}. */
export const newSecret = (kind: SecretKind): PlainText => secretFrom(kind, randomBytes(32));

/** Returns the secret that 32 random, confidential bytes encode. */
export function secretFrom(kind: SecretKind, bytes: Uint8Array): string {
  const text = `${SECRET_PREFIXES[kind]}_${Buffer.from(bytes).toString('base64url')}`;
  return text + checksum(text);
}

/** Returns the kind of secret that a text looks like, or undefined if prefix, length or checksum is wrong. */
export function secretKind(secret: string): SecretKind | undefined {
  const kind = secretKindByPrefix(secret);
  if (!kind) return undefined;
  const text = secret.slice(0, -CHECKSUM_CHARS);
  return checksum(text) === secret.slice(-CHECKSUM_CHARS) ? kind : undefined;
}

/** Like {@link secretKind}, but without the checksum: enough to choose what verifies the secret. */
export function secretKindByPrefix(secret: string): SecretKind | undefined {
  if (secret.length !== 4 + BODY_CHARS + CHECKSUM_CHARS || secret[3] !== '_') return undefined;
  const prefix = secret.slice(0, 3);
  for (const kind of Object.keys(SECRET_PREFIXES) as SecretKind[]) if (SECRET_PREFIXES[kind] === prefix) return kind;
  return undefined;
}

/** The stored hash of a secret that Legate issued. */
export type SecretHash = Derived<'SecretHash'>;

/** The stored hash of a password: a PHC string of argon2id. */
export type PasswordHash = Derived<'PasswordHash'>;

/** SHA-256 as hex. A database look-up by this hash leaks nothing useful through timing. */
export const secretHash = (secret: PlainText): SecretHash => hash('sha256', secret, 'hex') as SecretHash;

/** Constant-time comparison of two secrets, or of two hashes of the same kind, of any length. */
export function secretsEqual(a: PlainText, b: PlainText): boolean;
export function secretsEqual<Hash extends Derived<string>>(a: Hash, b: NoInfer<Hash>): boolean;
export function secretsEqual(a: string, b: string): boolean {
  const x = createHash('sha256').update(a).digest();
  const y = createHash('sha256').update(b).digest();
  return timingSafeEqual(x, y);
}
