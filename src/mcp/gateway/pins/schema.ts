import { z } from 'zod';
import { PageQuery } from '../../../http/page.ts';
import { isoTimestamp, text } from '../../../kernel/json.ts';
import { anyOf } from '../../../kernel/query.ts';

export const TOOL_STATES = ['approved', 'new', 'changed', 'blocked'] as const;

const Count = z.int().min(0);

export const GatewayServerView = z
  .object({
    name: z.string(),
    url: z.string().meta({ description: 'The address to which clients connect.' }),
    transport: z.enum(['stdio', 'http']),
    state: z.enum(['idle', 'running', 'failing']).meta({
      description:
        'State on this instance: `failing` after a failed start or a lost connection, until another one opens; ' +
        '`idle` without a connection, which the next call opens.',
    }),
    problem: z.string().nullable().meta({
      description: 'Why the last connection of this instance failed. null: it did not, or another one is open.',
    }),
    processes: Count.meta({ description: 'Number of connections of this instance: processes, or sessions over HTTP.' }),
    maxProcesses: Count,
    isolation: z.enum(['user', 'session', 'shared']),
    pin: z.enum(['enforce', 'alarm', 'off']),
    tools: z
      .object({ approved: Count, new: Count, changed: Count, blocked: Count })
      .meta({ description: 'Number of tools by state. All are 0 with `pin: off`.' }),
    baselineAt: isoTimestamp.nullable().meta({
      description: 'When its definitions were first listed and thereby approved. null: never.',
    }),
  })
  .meta({ id: 'GatewayServer' });
export type GatewayServerView = z.output<typeof GatewayServerView>;

const Definition = z
  .object({
    hash: z.string().meta({ description: 'SHA-256 of the canonical JSON (RFC 8785) without its cosmetic parts.' }),
    tool: z.looseObject({}).meta({ description: 'The tool as `tools/list` of the server returned it.' }),
  })
  .meta({ id: 'GatewayToolDefinition' });

export const GatewayTool = z
  .object({
    name: z.string(),
    state: z.enum(TOOL_STATES).meta({
      description:
        'With `pin: enforce`, only approved definitions can be listed and called: a `new` tool is withheld, and so ' +
        'is a `changed` one with its new definition. A `blocked` tool is withheld with `pin: alarm` too.',
    }),
    approved: Definition.nullable(),
    seen: Definition.meta({ description: 'The definition that the server listed last.' }),
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'GatewayTool' });
export type GatewayTool = z.output<typeof GatewayTool>;

export const ListTools = PageQuery.extend({ state: anyOf(z.enum(TOOL_STATES)) });

export const ApproveTool = z
  .strictObject({
    definition: text(100).optional().meta({
      description: 'The hash of the reviewed definition. 409 if the server has a different one by now.',
    }),
  })
  .meta({ id: 'ApproveGatewayTool' });
