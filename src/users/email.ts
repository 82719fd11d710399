import { z } from 'zod';
import { text } from '../lib/json.ts';

const MAX_EMAIL_CHARS = 254;
const LOCAL = /^[^\s@.,;:<>()[\]\\"\p{C}]+(\.[^\s@.,;:<>()[\]\\"\p{C}]+)*$/u;
const LABEL = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*$/u;

function isEmail(address: string): boolean {
  const [local = '', domain = '', ...more] = address.split('@');
  const labels = domain.split('.');
  return (
    more.length === 0 && local.length <= 64 && LOCAL.test(local) && labels.length > 1 && labels.every((label) => label.length <= 63 && LABEL.test(label) && !label.endsWith('-'))
  );
}

/** An e-mail address, international ones included, without the blanks around it. */
export const Email = text(MAX_EMAIL_CHARS)
  .transform((address) => address.trim().normalize('NFC'))
  .refine(isEmail, { message: 'must be an e-mail address' })
  .meta({ format: 'email', examples: ['ada@example.com'] });

/** What two spellings of one address have in common: unique in the table of users. */
export const emailKey = (address: string): string => address.trim().normalize('NFC').toLowerCase().normalize('NFC');

/** For signing in: any text, since what is no address is nobody's. */
export const AnyEmail = z.string().max(1024).meta({ format: 'email' });
