import { z } from 'zod';
import { isoTimestamp, text } from '../../kernel/json.ts';
import { resourceProblem } from '../../kernel/resource.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';

export const MAX_SERVERS = 500;
const MAX_TOOLS = 500;

/** A segment of a resource. */
const Segment = text(128).refine(
  (value) => !value.includes(':') && !value.includes('*'),
  'must not contain ":" or "*"',
);

const Name = Segment.refine((value) => value.trim() === value, 'must not begin or end with a space').meta({
  description: 'Unique; the second segment of `mcp:<name>:<tool>` in permissions.',
  examples: ['github'],
});
const Endpoint = z
  .string()
  .superRefine((value, ctx) => {
    const problem = resourceProblem(value);
    if (problem) ctx.addIssue({ code: 'custom', message: problem });
  })
  .meta({
    description: 'URL of the server, which is also the resource of its tokens. https, or http on loopback.',
    examples: ['https://mcp.example.com/mcp'],
  });
const Tools = z
  .array(Segment)
  .max(MAX_TOOLS)
  .meta({ examples: [['create_issue', 'list_issues']] });
const RateLimit = z
  .strictObject({
    rpm: wholeNumber(0, 1_000_000).meta({
      description: 'Decisions allowed in each clock minute, over all agents. 0 never allows.',
    }),
  })
  .meta({ id: 'McpRateLimit' });

/** Specification 2.8. */
export const McpServer = z
  .object({
    id: z.string(),
    name: z.string(),
    endpoint: z.string(),
    tools: z.array(z.string()),
    authRequired: z.boolean(),
    rateLimit: RateLimit.optional(),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'McpServer' });
export type McpServer = z.output<typeof McpServer>;

export const RegisterMcpServer = z
  .strictObject({
    name: Name,
    endpoint: Endpoint,
    tools: Tools.default([]),
    authRequired: z.boolean().default(true),
    rateLimit: RateLimit.optional(),
  })
  .meta({ id: 'RegisterMcpServerRequest' });
export type RegisterMcpServer = z.output<typeof RegisterMcpServer>;

export const UpdateMcpServer = z
  .strictObject({
    name: Name.optional(),
    endpoint: Endpoint.optional(),
    tools: Tools.optional(),
    authRequired: z.boolean().optional(),
    rateLimit: RateLimit.nullable().optional().meta({ description: 'null removes the limit.' }),
  })
  .meta({ id: 'UpdateMcpServerRequest' });
export type UpdateMcpServer = z.output<typeof UpdateMcpServer>;
