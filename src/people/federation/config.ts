import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { addressOf, CreateIssuer, MAX_ISSUERS } from './schema.ts';

const Issuers = z
  .array(CreateIssuer)
  .max(MAX_ISSUERS)
  .refine(
    (issuers) =>
      new Set(issuers.map(({ name }) => name)).size === issuers.length &&
      new Set(issuers.map(addressOf)).size === issuers.length,
    'must have unique names and addresses',
  );

export const issuersOption = option.json({
  schema: Issuers,
  default: [],
  secret: true,
  description:
    'Issuers of tokens that this service trusts, as a JSON array of the bodies of `POST /issuers`. The API lists ' +
    'them and cannot change them. Tokens and sessions of one that is removed end at the next start, and so do those ' +
    'of an issuer of the API that one with the same name or address replaces, as far as that one lacks its uses.',
});

export const federationConfig = {
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Also fetch documents and keys of issuers from private addresses and over http.',
  }),
} satisfies Section;
