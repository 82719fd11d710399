import { z } from 'zod';
import { option, type Section } from '../../../kernel/config.ts';

export const DEFAULT_BASE_URL = 'https://api.pwnedpasswords.com';

const address = z
  .url({ protocol: /^https?$/, message: 'must be an http or https address' })
  .refine((url) => !/\/range\/?$/.test(url), 'must be the address without /range')
  .transform((url) => url.replace(/\/+$/, ''));

export const breachConfig = {
  enabled: option.boolean({
    default: false,
    description: 'New passwords are looked up among those of known data breaches.',
  }),
  mode: option.oneOf(['enforce', 'warn'], {
    default: 'enforce',
    description:
      'enforce: a breached password is refused. warn: it is accepted, and the answer says so in the header Legate-Warning.',
  }),
  baseUrl: option.string({
    default: DEFAULT_BASE_URL,
    schema: address,
    description: 'Service that answers GET /range/<5 characters>. Only those 5 characters of a SHA-1 are sent.',
  }),
  apiKey: option.optionalString({ secret: true, description: 'Sent as hibp-api-key.' }),
  timeout: option.integer({
    default: 3000,
    min: 1,
    max: 60_000,
    description: 'Milliseconds for a look-up, from connecting to the last byte.',
  }),
  failClosed: option.boolean({
    default: false,
    description: 'When the look-up fails, new passwords are refused (503) instead of accepted.',
  }),
  minBreachCount: option.integer({
    default: 1,
    min: 1,
    description: 'A password that was seen this often is refused.',
  }),
  offlineFile: option.optionalString({
    description: 'File of lines SHA1:count sorted by hash, searched instead of asking a service.',
  }),
} satisfies Section;
