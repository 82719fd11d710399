import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { CreateIssuer, MAX_ISSUERS } from './schema.ts';

const Issuers = z
  .array(CreateIssuer)
  .max(MAX_ISSUERS)
  .refine(
    (issuers) =>
      (['name', 'issuer'] as const).every((key) => new Set(issuers.map((i) => i[key])).size === issuers.length),
    'must have unique names and addresses',
  );

export const issuersOption = option.json({
  schema: Issuers,
  default: [],
  secret: true,
  description:
    'Issuers of tokens that this service trusts, as a JSON array of the bodies of `POST /issuers`. The API lists ' +
    'them and does not change them.',
});

export const federationConfig = {
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Also fetch documents and keys of issuers from private addresses and over http.',
  }),
} satisfies Section;
