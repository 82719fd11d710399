import { z } from 'zod';
import { SCIM_SCOPE, SCOPE_NAMES } from '../../access/scopes.ts';
import { isoInstant, isoTimestamp, text } from '../../kernel/json.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';

const Scopes = z.array(z.enum([...SCOPE_NAMES, SCIM_SCOPE]));

export const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: Scopes.nullable().meta({ description: 'null: all rights of the user.' }),
    expiresAt: isoTimestamp.nullable().meta({ description: 'null: the token does not expire.' }),
    createdAt: isoTimestamp,
    lastUsedAt: isoTimestamp.nullable().meta({ description: 'Recorded about once a minute. null: not used yet.' }),
  })
  .meta({ id: 'ApiToken' });
export type ApiToken = z.output<typeof ApiToken>;

export const ApiTokenWithSecret = ApiToken.extend({
  token: shownSecret('The token value. Shown once; only its hash is stored.'),
}).meta({ id: 'ApiTokenWithSecret' });
export type ApiTokenWithSecret = z.output<typeof ApiTokenWithSecret>;

export const CreateApiToken = z
  .strictObject({
    name: text(200),
    scopes: Scopes.min(1)
      .refine((scopes) => new Set(scopes).size === scopes.length, { message: 'must not repeat a scope' })
      .nullable()
      .optional()
      .meta({ description: 'Narrows the token to these scopes. Without it, the token has all rights of its user.' }),
    expiresAt: isoInstant.nullable().optional(),
  })
  .meta({ id: 'CreateApiTokenRequest' });
export type CreateApiToken = z.output<typeof CreateApiToken>;
