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

/** Constraints of a permission (contract 6). Unknown keys are refused, so that a misspelt one is noticed. */
export const Constraints = z
  .strictObject({
    maxCallsPerHour: wholeNumber(0, 1_000_000_000)
      .optional()
      .meta({ description: 'Maximum calls per clock hour (UTC) under this entry. 0 allows none.' }),
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
    requireApproval: z.boolean().optional().meta({ description: 'Each call requires the approval of a person.' }),
    allowedArgPatterns: z.array(text(MAX_GLOB_CHARS)).min(1).max(50).optional().meta({
      description: 'Globs (* within a path segment, ** across). Every string in the arguments must match one of them.',
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
      'Segments separated by ":". A final "*" matches one or more segments, "*" in the middle exactly one, ' +
      '"*" alone every resource.',
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

/** Returns whether a permission has no constraint. An empty `constraints` has none. */
export const isUnconditional = ({ constraints }: Permission): boolean => Object.keys(constraints ?? {}).length === 0;

export const Permissions = z.array(Permission).max(MAX_PERMISSIONS, `must have at most ${MAX_PERMISSIONS} entries`);

/** How an agent holds a permission (contract 6). */
export const PermissionSource = z.union([
  z.object({ type: z.literal('own') }),
  z.object({
    type: z.literal('delegation'),
    delegationIds: z.array(z.string()).meta({ description: 'The chain, from the root to the agent.' }),
  }),
]);
export type PermissionSource = z.output<typeof PermissionSource>;
