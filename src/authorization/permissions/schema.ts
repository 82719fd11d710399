import { z } from 'zod';
import { parseAddressRange } from '../../kernel/address-range.ts';
import { text } from '../../kernel/json.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';
import { MAX_GLOB_CHARS } from './glob.ts';
import { patternProblem } from './pattern.ts';
import { TimeWindowSchema } from './time-window.ts';

const MAX_RESOURCE_CHARS = 512;
const MAX_ACTION_CHARS = 128;
const MAX_ACTIONS = 100;
export const MAX_PERMISSIONS = 1000;

/** Constraints of a permission entry (contract 6). An unknown key is refused, so that a misspelt one never goes unnoticed. */
export const Constraints = z
  .strictObject({
    maxCallsPerHour: wholeNumber(0, 1_000_000_000)
      .optional()
      .meta({ description: 'Calls allowed in each clock hour (UTC) under this entry. 0 never allows.' }),
    timeWindow: TimeWindowSchema.optional(),
    ipAllowlist: z
      .array(
        text(64).refine(
          (range) => parseAddressRange(range) !== undefined,
          'must be an IPv4 or IPv6 address or CIDR range',
        ),
      )
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Addresses or CIDR ranges from which the agent may call.' }),
    requireApproval: z.boolean().optional().meta({ description: 'A person has to approve each call.' }),
    allowedArgPatterns: z.array(text(MAX_GLOB_CHARS)).min(1).max(50).optional().meta({
      description: 'Globs (* within a path segment, ** across); every string in the arguments must match one.',
    }),
  })
  .meta({ id: 'Constraints' });

export const ResourcePattern = text(MAX_RESOURCE_CHARS)
  .superRefine((value, ctx) => {
    const problem = patternProblem(value);
    if (problem) ctx.addIssue({ code: 'custom', message: problem });
  })
  .meta({
    description:
      'Segments separated by ":"; "*" as the last one matches one or more, in the middle exactly one, alone everything.',
    examples: ['mcp:github:*'],
  });

export const Action = text(MAX_ACTION_CHARS).meta({ examples: ['read'] });
export const Resource = text(MAX_RESOURCE_CHARS).meta({ examples: ['mcp:github:list_issues'] });

/** Specification 2.2. */
export const Permission = z
  .strictObject({
    resource: ResourcePattern,
    actions: z.array(Action).min(1).max(MAX_ACTIONS),
    constraints: Constraints.optional(),
  })
  .meta({ id: 'Permission' });
export type Permission = z.output<typeof Permission>;

export const Permissions = z.array(Permission).max(MAX_PERMISSIONS, `must have at most ${MAX_PERMISSIONS} entries`);

/** Where an agent has a permission from (contract 6). */
export const PermissionSource = z.union([
  z.object({ type: z.literal('own') }),
  z.object({
    type: z.literal('delegation'),
    delegationIds: z.array(z.string()).meta({ description: 'The chain, from the root to the agent.' }),
  }),
]);
export type PermissionSource = z.output<typeof PermissionSource>;
