import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Branded } from './branded.ts';

/**
 * Secrets that we issue: `<prefix>_` + 43 characters base62-safe base64url (256 random bits) + 6 characters of checksum.
 * The prefix lets secret scanners find leaks; the checksum lets us refuse a mistyped secret without asking the database.
 * Only the SHA-256 of a secret is stored: with 256 random bits a slow hash would add nothing.
 */
export const SECRET_PREFIXES = {
  agentToken: 'lgt',
  apiToken: 'lgk',
  sessionToken: 'lgs',
  setupToken: 'lgu',
  clientSecret: 'lgc',
  authorizationCode: 'lga',
  refreshToken: 'lgr',
  streamTicket: 'lge',
  /** In links, and between the two steps of a sign-in: good once. */
  oneTimeToken: 'lgo',
  /** A browser that needs no second factor for a while. */
  deviceToken: 'lgd',
} as const;

export type SecretKind = keyof typeof SECRET_PREFIXES;

const BODY_CHARS = 43;
const CHECKSUM_CHARS = 6;

const checksum = (text: string): string =>
  createHash('sha256').update('legate-checksum').update(text).digest('hex').slice(0, CHECKSUM_CHARS);

/** A fresh secret. Hand it out once and keep only {@link secretHash}. */
export const newSecret = (kind: SecretKind): string => secretFrom(kind, randomBytes(32));

/** The secret that stands for 32 bytes which nobody else can know. */
export function secretFrom(kind: SecretKind, bytes: Uint8Array): string {
  const text = `${SECRET_PREFIXES[kind]}_${Buffer.from(bytes).toString('base64url')}`;
  return text + checksum(text);
}

/** Which kind of secret this looks like, or undefined when prefix, length or checksum do not fit. */
export function secretKind(secret: string): SecretKind | undefined {
  const kind = secretKindByPrefix(secret);
  if (!kind) return undefined;
  const text = secret.slice(0, -CHECKSUM_CHARS);
  return checksum(text) === secret.slice(-CHECKSUM_CHARS) ? kind : undefined;
}

/** Like {@link secretKind} without the checksum: enough to pick who verifies. */
export function secretKindByPrefix(secret: string): SecretKind | undefined {
  if (secret.length !== 4 + BODY_CHARS + CHECKSUM_CHARS || secret[3] !== '_') return undefined;
  const prefix = secret.slice(0, 3);
  for (const kind of Object.keys(SECRET_PREFIXES) as SecretKind[]) if (SECRET_PREFIXES[kind] === prefix) return kind;
  return undefined;
}

/** What is stored of a secret. The brand keeps a secret from being taken for its hash. */
export type SecretHash = Branded<string, 'SecretHash'>;

/** SHA-256, hex. Looking a row up by it leaks nothing useful through timing. */
export const secretHash = (secret: string): SecretHash => hash('sha256', secret, 'hex') as SecretHash;

/** Constant-time comparison of two strings of any length. */
export function secretsEqual(a: string, b: string): boolean {
  const x = createHash('sha256').update(a).digest();
  const y = createHash('sha256').update(b).digest();
  return timingSafeEqual(x, y);
}
