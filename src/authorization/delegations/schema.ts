import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { isoInstant, isoTimestamp, text } from '../../kernel/json.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';
import { Permission, Permissions } from '../permissions/index.ts';

const AgentId = text(64);

/** Greatest depth that can be asked for. */
export const MAX_MAX_DEPTH = 10;
export const DEFAULT_MAX_DEPTH = 3;

/** Specification 4.3. */
export const CreateDelegation = z
  .strictObject({
    fromAgent: AgentId,
    toAgent: AgentId,
    permissions: Permissions.min(1),
    expiresAt: isoInstant.nullable().optional(),
    maxDepth: wholeNumber(1, MAX_MAX_DEPTH)
      .optional()
      .meta({
        description: `Greatest depth that any delegation of this chain may have; 1: may not be passed on. ${DEFAULT_MAX_DEPTH} unless given.`,
      }),
  })
  .meta({ id: 'CreateDelegation' });
export type CreateDelegation = z.output<typeof CreateDelegation>;

/** Specification 2.3. */
export const Delegation = z
  .object({
    id: z.string(),
    fromAgent: z.string(),
    toAgent: z.string(),
    permissions: z.array(Permission),
    depth: z.int().meta({ description: 'Place in the chain: 1 for a direct delegation.' }),
    expiresAt: isoTimestamp.nullable(),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Delegation' });
export type Delegation = z.output<typeof Delegation>;

export const DelegationFilter = z.strictObject({
  fromAgent: AgentId.optional(),
  toAgent: AgentId.optional(),
  ...OwnerFilter,
});
export type DelegationFilter = z.output<typeof DelegationFilter>;

export const ListDelegations = PageQuery.extend(DelegationFilter.shape);
