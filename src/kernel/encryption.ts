import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** A key of the data folder's `secrets.json`: id, and 32 or more random bytes as base64url. Lists of them are newest first. */
export interface SealKey {
  readonly id: string;
  readonly key: string;
}

/** A key for one use only, so that what is made for one purpose means nothing to another (RFC 5869). */
const derived = (key: SealKey, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(key.key, 'base64url'), '', `legate ${purpose}`, 32));

/**
 * Encrypts a text that has to be read again (AES-256-GCM with the newest key): `<key id>.<iv>.<ciphertext and tag>`. It opens
 * only for the same purpose and owner, so that a row copied to another user's is worth nothing.
 */
export function seal(keys: readonly SealKey[], purpose: string, owner: string, plain: string): string {
  const key = keys[0] as SealKey;
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', derived(key, purpose), iv).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${key.id}.${iv.toString('base64url')}.${sealed.toString('base64url')}`;
}

/** The text again. Throws when the key is gone from `keys`, or when anything was changed. */
export function unseal(keys: readonly SealKey[], purpose: string, owner: string, sealed: string): string {
  const [id, iv = '', rest = ''] = sealed.split('.');
  const key = keys.find((k) => k.id === id);
  if (!key) throw new Error(`secrets.json has no key ${id}, which something in the database was encrypted with.`);
  const bytes = Buffer.from(rest, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', derived(key, purpose), Buffer.from(iv, 'base64url'))
    .setAAD(Buffer.from(owner))
    .setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
}

/**
 * What is stored of a secret that is short enough to be guessed (codes of six digits): `<key id>.<HMAC-SHA-256>`, bound to its
 * purpose and owner. Worth nothing without secrets.json.
 */
export const keyedHash = (key: SealKey, purpose: string, owner: string, secret: string): string =>
  `${key.id}.${createHmac('sha256', derived(key, purpose)).update(`${owner}\n${secret}`).digest('base64url')}`;

/** The hash under each key that is known: one of them is what was stored. */
export const keyedHashes = (keys: readonly SealKey[], purpose: string, owner: string, secret: string): string[] =>
  keys.map((key) => keyedHash(key, purpose, owner, secret));
