import type { Changer } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { McpServerRow } from '../../storage/index.ts';
import { McpErrors } from './errors.ts';
import type { McpServer, UpdateMcpServer } from './schema.ts';
import { findServerByName, getServer, toServer } from './store.ts';

/**
 * Throws 409 MCP_SERVER_CONFIGURED for a server of `gateway.servers`: without its registration, no client could sign in
 * until the next start.
 */
function assertNotConfigured({ config }: Pick<Platform, 'config'>, { name }: McpServerRow): void {
  const { servers } = config.gateway;
  if (Object.hasOwn(servers, name) && servers[name]?.disabled !== true) throw McpErrors.MCP_SERVER_CONFIGURED();
}

/**
 * Changes the given fields. The grants for a previous endpoint end by a reaction of the authorization server. Throws
 * 404 MCP_SERVER_NOT_FOUND, 422 MCP_SERVER_NAME_IN_USE, and 409 MCP_SERVER_CONFIGURED unless the gateway itself changes
 * the address.
 */
export async function updateServer(
  platform: Pick<Platform, 'config' | 'ledger'>,
  caller: Changer,
  id: Id<'mcpServer'>,
  input: UpdateMcpServer,
  { byGateway = false } = {},
): Promise<McpServer> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const row = await getServer(db, id);
    caller.assertUnchanged?.(toServer(row));
    const isMoved = (input.name ?? row.name) !== row.name || (input.endpoint ?? row.endpoint) !== row.endpoint;
    if (isMoved && !byGateway) assertNotConfigured(platform, row);
    if (input.name !== undefined && input.name !== row.name && (await findServerByName(db, input.name)))
      throw McpErrors.MCP_SERVER_NAME_IN_USE({ details: { path: 'name' } });
    const after: McpServerRow = {
      ...row,
      name: input.name ?? row.name,
      endpoint: input.endpoint ?? row.endpoint,
      tools: input.tools === undefined ? row.tools : JSON.stringify(input.tools),
      auth_required: input.authRequired === undefined ? row.auth_required : input.authRequired ? 1 : 0,
      rpm: input.rateLimit === undefined ? row.rpm : (input.rateLimit?.rpm ?? null),
    };
    if (
      (['name', 'endpoint', 'tools', 'auth_required', 'rpm'] as const).every((column) => after[column] === row[column])
    )
      return toServer(row);
    after.updated_at = now;
    await db.updateTable('mcp_servers').set(after).where('id', '=', id).execute();
    change.invalidate();
    const server = toServer(after);
    const data = { serverId: id, name: after.name };
    change.emit({ type: 'mcp.updated', data, ...changedFields(toServer(row), server) });
    return server;
  });
}

/**
 * Removes a server. No more tokens are issued for it. The grants for it end by a reaction of the authorization server.
 * Throws 404 MCP_SERVER_NOT_FOUND, 409 MCP_SERVER_CONFIGURED.
 */
export async function removeServer(
  platform: Pick<Platform, 'config' | 'ledger'>,
  caller: Changer,
  id: Id<'mcpServer'>,
): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const row = await getServer(change.db, id);
    caller.assertUnchanged?.(toServer(row));
    assertNotConfigured(platform, row);
    await change.db.deleteFrom('mcp_servers').where('id', '=', id).execute();
    change.invalidate();
    const data = { serverId: id, name: row.name };
    change.emit({ type: 'mcp.deleted', data, before: { ...toServer(row) } });
  });
}
