import { generateSecret, generateURI, verifySync } from 'otplib';
import { SECOND_MS } from '../../../kernel/clock.ts';

/** RFC 6238 with the parameters that every authenticator app supports: SHA-1, six digits, 30 seconds. */
const PERIOD_S = 30;

/** 160 random bits (RFC 4226, section 4), Base32. */
export const newTotpSecret = (): string => generateSecret({ length: 20 });

export const totpUri = (issuer: string, label: string, secret: string): string =>
  generateURI({ issuer, label, secret, digits: 6, period: PERIOD_S, algorithm: 'sha1' });

/**
 * Returns the time step of a code, one step before and after now included (RFC 6238, section 5.2), or undefined if the
 * code is wrong. Compares in constant time.
 */
export function totpStep(secret: string, code: string, now: number): number | undefined {
  if (!/^[0-9]{6}$/.test(code)) return undefined;
  const result = verifySync({
    secret,
    token: code,
    epoch: Math.floor(now / SECOND_MS),
    epochTolerance: PERIOD_S,
    digits: 6,
    period: PERIOD_S,
    algorithm: 'sha1',
  });
  return result.valid && 'timeStep' in result ? result.timeStep : undefined;
}
