import { randomBytes } from 'node:crypto';
import { DAY_MS } from '../../../kernel/clock.ts';
import { isAmong, keyedHash, keyedHashes, type SealKey } from '../../../kernel/encryption.ts';
import type { Platform } from '../../../platform.ts';
import type { UserRow } from '../../../storage/index.ts';
import { browserCookie } from '../browser-cookie.ts';

const LIFETIME_MS = 180 * DAY_MS;
const cookie = browserCookie('known_device', LIFETIME_MS);
const PURPOSE = 'known device';
const MAX_CHARS = 500;

type Person = Pick<UserRow, 'id' | 'password_hash'>;

/** The signed text. It includes the password hash, so a new password invalidates earlier cookies. */
const claim = (id: string, { password_hash }: Person): string => `${id}\n${password_hash ?? ''}`;

/**
 * Returns the Set-Cookie value that marks a browser in which the user has signed in. It does not authenticate: it only
 * counts the failures of this browser separately from those of others (OWASP, "Slow down online guessing attacks with
 * device cookies").
 */
export function knownDeviceCookie(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'secrets'>,
  person: Person,
): string {
  const { clock, secrets } = platform;
  const id = `${clock.now().toString(36)}-${randomBytes(12).toString('base64url')}`;
  const value = `${id}~${keyedHash(secrets().pepper[0] as SealKey, PURPOSE, person.id, claim(id, person))}`;
  return cookie.set(platform, value);
}

export const readKnownDevice = cookie.read;

/** Returns the name of the browser that sent this cookie if this user has signed in there. */
export function knownDeviceOf(
  { clock, secrets }: Pick<Platform, 'clock' | 'secrets'>,
  person: Person | undefined,
  value: string | undefined,
): string | undefined {
  if (person === undefined || value === undefined || value.length > MAX_CHARS) return undefined;
  const [id = '', signature = ''] = value.split('~');
  const signedAt = Number.parseInt(id.split('-')[0] ?? '', 36);
  if (!(clock.now() - signedAt < LIFETIME_MS)) return undefined;
  const right = isAmong(keyedHashes(secrets().pepper, PURPOSE, person.id, claim(id, person)), signature);
  return right ? `browser ${id}` : undefined;
}
