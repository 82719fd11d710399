import { z } from 'zod';
import { isoTimestamp } from '../../kernel/json.ts';
import { KeysAddress, PublicKeys } from '../clients/client-keys.ts';

const jwksUri = KeysAddress.meta({
  description: 'Address of a JWK set, which is fetched when the agent authenticates.',
});

/** Contract 23.4. */
export const SetAgentKeys = z
  .strictObject({ jwks: PublicKeys.optional(), jwksUri: jwksUri.optional() })
  .refine((keys) => (keys.jwks === undefined) !== (keys.jwksUri === undefined), 'must have either jwks or jwksUri')
  .meta({ id: 'SetAgentKeysRequest' });
export type SetAgentKeys = z.output<typeof SetAgentKeys>;

export const AgentKeys = z
  .object({ jwks: PublicKeys.optional(), jwksUri: jwksUri.optional(), updatedAt: isoTimestamp })
  .meta({ id: 'AgentKeys' });
export type AgentKeys = z.output<typeof AgentKeys>;
