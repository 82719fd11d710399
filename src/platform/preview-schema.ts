import { z } from 'zod';

const LostPermission = z.object({
  resource: z.string(),
  actions: z.array(z.string()),
  constraints: z.record(z.string(), z.unknown()).optional(),
  furtherConstraints: z.array(z.record(z.string(), z.unknown())).optional(),
  source: z.union([
    z.object({ type: z.literal('own') }),
    z.object({ type: z.literal('delegation'), delegationIds: z.array(z.string()) }),
  ]),
});

/** What a change would do (contract 17.8). */
export const Preview = z
  .object({
    preview: z.literal(true),
    events: z
      .array(
        z.object({
          type: z.string(),
          data: z.record(z.string(), z.unknown()),
          agentId: z.string().optional(),
          userId: z.string().optional(),
          actor: z.record(z.string(), z.unknown()),
          before: z.record(z.string(), z.unknown()).optional(),
          after: z.record(z.string(), z.unknown()).optional(),
        }),
      )
      .meta({ description: 'The events that the change would emit and that the caller would see, in their order.' }),
    loses: z
      .array(
        z.object({
          agentId: z.string(),
          name: z.string(),
          permissions: z
            .array(LostPermission)
            .meta({ description: 'Effective permissions that the agent would lose.' }),
          left: z.int().meta({ description: 'Number of effective permissions that it would keep.' }),
        }),
      )
      .meta({ description: 'Every agent within reach of the caller that could do less, the target included.' }),
    hidden: z
      .int()
      .meta({ description: 'Number of further agents that could do less and that the caller cannot see.' }),
    grants: z.int().meta({ description: 'Number of grants that would end.' }),
    approvals: z.int().meta({ description: 'Number of waiting approvals that these agents could no longer use.' }),
    callsLastHour: z.int().meta({ description: 'Number of decisions about these agents within the last hour.' }),
  })
  .meta({ id: 'Preview' });
export type Preview = z.output<typeof Preview>;
