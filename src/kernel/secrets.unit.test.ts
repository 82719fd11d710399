import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PlainText } from './branded.ts';
import { type Encrypted, isAmong, type KeyedHash, keyedHash, type SealKey, seal, unseal } from './encryption.ts';
import { shownSecret } from './secret-schema.ts';
import { newSecret, type PasswordHash, type SecretHash, secretHash, secretsEqual } from './secrets.ts';

const key: SealKey = { id: 'k1', key: Buffer.alloc(32, 7).toString('base64url') };
const secret = newSecret('agentToken');
const hash = secretHash(secret);
const keyed = keyedHash(key, 'test', 'usr_1', '123456');

/** Functions that take hashes, as storage and look-ups do. */
const stored = (text: SecretHash): boolean => /^[0-9a-f]{64}$/.test(text);
const storedCode = (text: KeyedHash): boolean => text.startsWith('k1.');
const storedPassword = (text: PasswordHash): boolean => text.startsWith('$argon2id$');
/** A function that shows a secret to the person who created it. */
const shown = (text: PlainText): boolean => text.startsWith('lgt_');

describe('a secret and what is derived from it', () => {
  it('a secret does not type-check where its hash is stored or looked up', () => {
    expect(stored(hash)).toBe(true);
    // @ts-expect-error The secret itself.
    expect(stored(secret)).toBe(false);
    // @ts-expect-error The code itself.
    expect(storedCode('123456')).toBe(false);
    // @ts-expect-error The password itself.
    expect(storedPassword('correct horse battery staple')).toBe(false);
  });

  it('a hash does not type-check in place of a hash of another kind', () => {
    expect(storedCode(keyed)).toBe(true);
    // @ts-expect-error A plain hash of a code could be reversed.
    expect(storedCode(hash)).toBe(false);
    // @ts-expect-error A password needs a slow hash.
    expect(storedPassword(hash)).toBe(false);
    // @ts-expect-error The hash of a code.
    expect(stored(keyed)).toBe(false);
  });

  it('a hash does not type-check where a secret is hashed, compared or shown', () => {
    expect(shown(secret)).toBe(true);
    // @ts-expect-error The hash.
    expect(shown(hash)).toBe(false);
    // @ts-expect-error The hash of the hash is not found in any row.
    expect(secretHash(hash)).not.toBe(hash);
    // @ts-expect-error The hash.
    expect(keyedHash(key, 'test', 'usr_1', hash)).not.toBe(hash);
    // @ts-expect-error A secret is compared with its hash.
    expect(secretsEqual(secret, hash)).toBe(false);
    // @ts-expect-error Hashes of two kinds are compared.
    expect(secretsEqual(keyed, hash)).toBe(false);
    expect(secretsEqual(secretHash(secret), hash)).toBe(true);
    expect(isAmong([keyed], keyed)).toBe(true);
    expect(isAmong([keyed], `${keyed}x`)).toBe(false);
  });

  it('neither a hash nor an encrypted text type-checks as a secret in a response', () => {
    const Response = z.object({ token: shownSecret('The token.') });
    const respond = (body: z.input<typeof Response>): z.output<typeof Response> => Response.parse(body);
    expect(respond({ token: secret }).token).toBe(secret);
    // @ts-expect-error The hash.
    expect(respond({ token: hash }).token).not.toBe(secret);
    // @ts-expect-error The hash with a key.
    expect(respond({ token: keyed }).token).not.toBe(secret);
    // @ts-expect-error It is encrypted.
    expect(respond({ token: seal([key], 'test', 'usr_1', secret) }).token).not.toBe(secret);
    expect(z.toJSONSchema(Response).properties).toEqual({ token: { type: 'string', description: 'The token.' } });
  });

  it('an encrypted text does not type-check where its content is needed, nor plain text where it is decrypted', () => {
    const sealed: Encrypted = seal([key], 'test', 'usr_1', secret);
    expect(unseal([key], 'test', 'usr_1', sealed)).toBe(secret);
    // @ts-expect-error It is encrypted already.
    expect(seal([key], 'test', 'usr_1', sealed)).not.toBe(sealed);
    // @ts-expect-error The content.
    expect(() => unseal([key], 'test', 'usr_1', secret)).toThrow();
    // @ts-expect-error It is encrypted.
    expect(shown(sealed)).toBe(false);
  });
});
