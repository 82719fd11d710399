import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Encrypted, keyedHash, keyedHashes, seal, unseal } from './encryption.ts';

const key = (id: string) => ({ id, key: randomBytes(32).toString('base64url') });
const [old, fresh] = [key('old'), key('fresh')];

describe('seal', () => {
  it('decrypts only for the same purpose and owner', () => {
    const sealed = seal([old], 'totp', 'usr_1', 'JBSWY3DP');
    expect(sealed).not.toContain('JBSWY3DP');
    expect(sealed).not.toBe(seal([old], 'totp', 'usr_1', 'JBSWY3DP'));
    expect(unseal([fresh, old], 'totp', 'usr_1', sealed)).toBe('JBSWY3DP');
    expect(() => unseal([old], 'totp', 'usr_2', sealed)).toThrow();
    expect(() => unseal([old], 'other', 'usr_1', sealed)).toThrow();
    expect(() => unseal([fresh], 'totp', 'usr_1', sealed)).toThrow(/no key old/);
  });

  it('refuses a changed or truncated value', () => {
    const [id, iv, rest = ''] = seal([old], 'totp', 'usr_1', 'JBSWY3DP').split('.');
    const flipped = Buffer.from(rest, 'base64url');
    flipped[0] = (flipped[0] as number) ^ 1;
    for (const wrong of [flipped.toString('base64url'), rest.slice(0, 8), '', rest.slice(0, -2)])
      expect(() => unseal([old], 'totp', 'usr_1', `${id}.${iv}.${wrong}` as Encrypted)).toThrow();
  });
});

describe('keyedHash', () => {
  it('differs by key, purpose, owner and secret, and is among the hashes under all keys', () => {
    const all = [
      keyedHash(old, 'otp', 'a', '123456'),
      keyedHash(fresh, 'otp', 'a', '123456'),
      keyedHash(old, 'x', 'a', '123456'),
      keyedHash(old, 'otp', 'b', '123456'),
    ];
    expect(new Set(all).size).toBe(4);
    expect(keyedHashes([fresh, old], 'otp', 'a', '123456')).toContain(all[0]);
    expect(all[0]).not.toContain('123456');
  });
});
