import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { Derived, PlainText } from './branded.ts';
import { secretsEqual } from './secrets.ts';

/** A key of `secrets.json`: its id, and at least 32 random bytes as base64url. Lists of keys are newest first. */
export interface SealKey {
  readonly id: string;
  readonly key: string;
}

/** Derives a key for one purpose (RFC 5869), so that a value made for one purpose is invalid for every other. */
const deriveKey = (key: SealKey, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(key.key, 'base64url'), '', `legate ${purpose}`, 32));

/** A text that {@link seal} encrypted. */
export type Encrypted = Derived<'Encrypted'>;

/** A hash that {@link keyedHash} returns. */
export type KeyedHash = Derived<'KeyedHash'>;

/**
 * Encrypts a text that must be readable again, with AES-256-GCM and the newest key: `<key id>.<iv>.<ciphertext and
 * tag>`. It decrypts only for the same purpose and owner, so a row copied to another user is useless.
 */
export function seal(keys: readonly SealKey[], purpose: string, owner: string, plain: PlainText): Encrypted {
  const key = keys[0] as SealKey;
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(key, purpose), iv).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${key.id}.${iv.toString('base64url')}.${sealed.toString('base64url')}` as Encrypted;
}

/** Decrypts the text. Throws if the key is missing from `keys`, or if any part was changed. */
export function unseal(keys: readonly SealKey[], purpose: string, owner: string, sealed: Encrypted): string {
  const [id, iv = '', rest = ''] = sealed.split('.');
  const key = keys.find((k) => k.id === id);
  if (!key) throw new Error(`There is no key ${id}, which a value in the database was encrypted with.`);
  const bytes = Buffer.from(rest, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(key, purpose), Buffer.from(iv, 'base64url'))
    .setAAD(Buffer.from(owner))
    .setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
}

/**
 * Keyed hash of a secret that is short enough to guess, such as a six-digit code: `<key id>.<HMAC-SHA-256>`, bound to
 * purpose and owner. It cannot be brute-forced without secrets.json.
 */
export function keyedHash(key: SealKey, purpose: string, owner: string, secret: PlainText): KeyedHash {
  const hmac = createHmac('sha256', deriveKey(key, purpose)).update(`${owner}\n${secret}`);
  return `${key.id}.${hmac.digest('base64url')}` as KeyedHash;
}

/** Whether a text is one of these hashes, compared in constant time. */
export const isAmong = (hashes: readonly KeyedHash[], text: string): boolean =>
  hashes.some((hash) => secretsEqual(hash, text as KeyedHash));

/** The hash under each known key. The stored hash is one of them. */
export const keyedHashes = (keys: readonly SealKey[], purpose: string, owner: string, secret: PlainText): KeyedHash[] =>
  keys.map((key) => keyedHash(key, purpose, owner, secret));
