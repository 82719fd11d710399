import { z } from 'zod';
import { idOf } from '../../kernel/id-schema.ts';
import { parseIp } from '../../kernel/ip.ts';
import { isoInstant, jsonObject, text } from '../../kernel/json.ts';
import { Action, Permissions, Resource } from './schema.ts';

/** Maximum size of the body of /authorize, which also limits `arguments`. */
export const AUTHORIZE_BODY_LIMIT = 65_536;

/** Where the agent's call comes from, as stated by its owner or a gateway. */
export const CallContext = z.strictObject({
  ip: text(64)
    .refine((ip) => parseIp(ip) !== undefined, { message: 'must be an IPv4 or IPv6 address' })
    .optional(),
  userAgent: text(1024).optional(),
});

export const AuthorizeBody = z
  .strictObject({
    agentId: idOf('agent', text(64)).optional().meta({ description: 'Optional for an agent that asks about itself.' }),
    action: Action,
    resource: Resource,
    arguments: jsonObject(AUTHORIZE_BODY_LIMIT).optional(),
    context: CallContext.optional(),
    explain: z.boolean().optional(),
    dryRun: z.boolean().optional(),
    tokensCost: z.number().min(0).max(1e15).optional(),
    permissions: Permissions.optional().meta({
      description: "With dryRun only: a draft in place of the agent's own permissions.",
    }),
    at: isoInstant.optional().meta({
      description:
        'With dryRun only: the time to decide for, on the current policy. Limits and budgets whose current window ' +
        'does not contain it count as unused.',
    }),
  })
  .superRefine((body, ctx) => {
    for (const name of ['permissions', 'at'] as const)
      if (body[name] !== undefined && body.dryRun !== true)
        ctx.addIssue({ code: 'custom', path: [name], message: 'is allowed with dryRun: true only' });
  })
  .meta({ id: 'AuthorizeRequest' });
export type AuthorizeBody = z.output<typeof AuthorizeBody>;
