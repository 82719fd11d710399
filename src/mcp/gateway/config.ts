import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { InvalidServers, parseServers, type ServersInput } from './servers-file.ts';

export const gatewayConfig = {
  servers: option.json<ServersInput>({
    default: {},
    secret: true,
    schema: z.custom<ServersInput>().superRefine((value, ctx) => {
      try {
        parseServers({ mcpServers: value }, process.env);
      } catch (error) {
        if (!(error instanceof InvalidServers)) throw error;
        // The option has the object itself, without the key that files of clients have.
        ctx.addIssue({ code: 'custom', message: error.message.replace(/^mcpServers(?:\.|: )/, '') });
      }
    }),
    description:
      'Existing MCP servers that clients reach at `/gateway/<name>/mcp`: the object that MCP clients call ' +
      '`mcpServers` (docs/gateway.md).',
  }),
  allowPrivateNetworks: option.boolean({
    default: false,
    description:
      'Allow private addresses and http in the discovery of authorization servers of these servers. The ' +
      'configured address of a server may be private in any case.',
  }),
} satisfies Section;
