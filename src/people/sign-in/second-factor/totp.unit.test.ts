import { generateSync } from 'otplib';
import { describe, expect, it } from 'vitest';
import { newTotpSecret, totpStep, totpUri } from './totp.ts';

/**
 * RFC 6238, appendix B: the secret is "12345678901234567890" in Base32; the codes are the last six of the eight digits.
 */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const VECTORS: readonly [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
];

describe('totpStep', () => {
  it.each(VECTORS)('at %i s the code is %s', (seconds, code) => {
    const step = Math.floor(seconds / 30);
    expect(totpStep(SECRET, code, seconds * 1000)).toBe(step);
    expect(totpStep(SECRET, code, (seconds + 30) * 1000)).toBe(step);
    expect(totpStep(SECRET, code, (seconds + 60) * 1000)).toBeUndefined();
    if (seconds > 60) expect(totpStep(SECRET, code, (seconds - 60) * 1000)).toBeUndefined();
  });

  it('agrees with otplib at every edge of a step', () => {
    const secret = newTotpSecret();
    for (const ms of [0, 29_999, 30_000, 59_999, 60_000, 90_000]) {
      const now = 1_900_000_020_000 + ms;
      expect(totpStep(secret, generateSync({ secret, epoch: Math.floor(now / 1000) }), now)).toBe(
        Math.floor(now / 30_000),
      );
    }
  });

  it('accepts no other format of a code', () => {
    for (const code of ['', '28708', '2870820', ' 287082', '２８７０８２', '287082\n', '+87082', '0x1234'])
      expect(totpStep(SECRET, code, 59_000)).toBeUndefined();
  });
});

describe('totpUri', () => {
  it('contains any address unchanged', () => {
    const uri = new URL(totpUri('legate', 'o\'brien+"x"/?#&@example.com', SECRET));
    expect([uri.protocol, uri.host, uri.searchParams.get('secret'), uri.searchParams.get('issuer')]).toEqual([
      'otpauth:',
      'totp',
      SECRET,
      'legate',
    ]);
    expect(decodeURIComponent(uri.pathname)).toBe('/legate:o\'brien+"x"/?#&@example.com');
  });
});
