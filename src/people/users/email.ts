import { domainToASCII, domainToUnicode } from 'node:url';
import { z } from 'zod';
import { text } from '../../kernel/json.ts';

const MAX_EMAIL_CHARS = 254;
const LOCAL = /^[^\s@.,;:<>()[\]\\"\p{C}]+(\.[^\s@.,;:<>()[\]\\"\p{C}]+)*$/u;
const LABEL = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*$/u;

function isEmail(address: string): boolean {
  const [local = '', domain = '', ...more] = address.split('@');
  const labels = domain.split('.');
  return (
    more.length === 0 &&
    local.length <= 64 &&
    LOCAL.test(local) &&
    labels.length > 1 &&
    labels.every((label) => label.length <= 63 && LABEL.test(label) && !label.endsWith('-'))
  );
}

/** An e-mail address, trimmed. International addresses are allowed. */
export const Email = text(MAX_EMAIL_CHARS)
  .transform((address) => address.trim().normalize('NFC'))
  .refine((address) => isEmail(address) && isEmail(address.normalize('NFKC')), { message: 'must be an e-mail address' })
  .meta({ format: 'email', examples: ['ada@example.com'] });

/**
 * Returns the comparison key of an address, which is unique in the table of users. Case, compatibility forms such as
 * full-width letters, and the two spellings of an international domain are equal; look-alike letters of different
 * scripts are not.
 */
export function emailKey(address: string): string {
  const key = address.trim().normalize('NFKC').toLowerCase().normalize('NFKC');
  const at = key.lastIndexOf('@');
  if (at === -1) return key;
  const domain = key.slice(at + 1);
  return `${key.slice(0, at)}@${domainToUnicode(domainToASCII(domain)) || domain}`;
}

/** For sign-in: any text, because an invalid address simply matches no account. */
export const AnyEmail = z.string().max(1024).meta({ format: 'email' });
