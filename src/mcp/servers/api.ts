import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { type ChangeOptions, expecting } from '../../access/in-process.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { registerServer } from './register-server.ts';
import { MAX_SERVERS, type McpServer, RegisterMcpServer, UpdateMcpServer } from './schema.ts';
import { getServer, listServers, toServer } from './store.ts';
import { removeServer, updateServer } from './update-server.ts';

/** `legate.mcp`: MCP servers and their tokens. Refusals throw {@link LegateError}. */
export interface McpApi {
  /** Registers a server, or updates the registration with its name. Safe to call at every start. */
  registerServer(input: z.input<typeof RegisterMcpServer>): Promise<McpServer>;
  /** Returns all servers, oldest first. */
  listServers(): Promise<McpServer[]>;
  getServer(id: string): Promise<McpServer>;
  updateServer(id: string, input: z.input<typeof UpdateMcpServer>, options?: ChangeOptions): Promise<McpServer>;
  removeServer(id: string, options?: ChangeOptions): Promise<void>;
}

export function mcpApi(platform: Pick<Platform, 'config' | 'database' | 'ledger'>, actor: Actor): McpApi {
  const caller = applicationCaller(actor);
  return {
    registerServer: async (input) =>
      registerServer(platform, parseWith(RegisterMcpServer, input), { caller, taken: 'replace' }),
    listServers: async () => (await listServers(platform.database.read, { limit: MAX_SERVERS })).map(toServer),
    getServer: async (id) => toServer(await getServer(platform.database.read, asId('mcpServer', id))),
    updateServer: async (id, input, options) =>
      updateServer(platform, expecting(caller, options), asId('mcpServer', id), parseWith(UpdateMcpServer, input)),
    removeServer: async (id, options) => removeServer(platform, expecting(caller, options), asId('mcpServer', id)),
  };
}
