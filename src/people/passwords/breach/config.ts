import { z } from 'zod';
import { option, type Section } from '../../../kernel/config.ts';

export const DEFAULT_BASE_URL = 'https://api.pwnedpasswords.com';

const address = z
  .url({ protocol: /^https?$/, message: 'must be an http or https address' })
  .refine((url) => !/\/range\/?$/.test(url), 'must be the address without /range')
  .refine((url) => !/[?#]/.test(url), 'must not have a query or a fragment')
  // `fetch` would refuse them at each look-up.
  .refine((url) => !/^\w+:\/*[^/]*@/.test(url), 'must not have a user name or password')
  .transform((url) => url.replace(/\/+$/, ''));

export const breachConfig = {
  enabled: option.boolean({
    default: false,
    description: 'Look up new passwords in known data breaches.',
  }),
  mode: option.oneOf(['enforce', 'warn'], {
    default: 'enforce',
    description:
      'enforce refuses a breached password. warn accepts it and adds the header Legate-Warning to the answer.',
  }),
  baseUrl: option.string({
    default: DEFAULT_BASE_URL,
    schema: address,
    description:
      'Base URL of the service that answers GET /range/<5 characters>. Only these 5 characters of a SHA-1 are sent.',
  }),
  apiKey: option.optionalString({ secret: true, description: 'Sent as hibp-api-key.' }),
  timeout: option.integer({
    default: 3000,
    min: 1,
    max: 60_000,
    description: 'Timeout of a look-up in milliseconds, from connecting to the last byte.',
  }),
  failClosed: option.boolean({
    default: false,
    description: 'Refuse new passwords (503) if the look-up fails, instead of accepting them.',
  }),
  minBreachCount: option.integer({
    default: 1,
    min: 1,
    description: 'Number of occurrences from which a password is refused.',
  }),
  offlineFile: option.optionalString({
    description: 'File of SHA1:count lines sorted by hash, searched instead of asking a service.',
  }),
} satisfies Section;
