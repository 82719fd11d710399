import type { Changer } from '../../access/caller.ts';
import { newId } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, McpServerRow } from '../../storage/index.ts';
import { McpErrors } from './errors.ts';
import { MAX_SERVERS, type McpServer, type RegisterMcpServer } from './schema.ts';
import { findServerByName, toServer } from './store.ts';

interface Options {
  readonly caller: Changer;
  /** If the name is in use: `refuse`, or `replace` the registration, which keeps its id. */
  readonly taken: 'refuse' | 'replace';
}

/** Registers an MCP server (specification 2.8). Throws 422 MCP_SERVER_NAME_IN_USE, MCP_SERVER_LIMIT_EXCEEDED. */
export async function registerServer(
  { ledger }: Pick<Platform, 'ledger'>,
  input: RegisterMcpServer,
  { caller, taken }: Options,
): Promise<McpServer> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const there = await findServerByName(db, input.name);
    if (there && taken === 'refuse') throw McpErrors.MCP_SERVER_NAME_IN_USE({ details: { path: 'name' } });
    if (!there) await assertRoom(db);
    const wanted = {
      name: input.name,
      endpoint: input.endpoint,
      tools: JSON.stringify(input.tools),
      auth_required: input.authRequired ? 1 : 0,
      rpm: input.rateLimit?.rpm ?? null,
    };
    if (there && (Object.keys(wanted) as (keyof typeof wanted)[]).every((column) => wanted[column] === there[column]))
      return toServer(there);
    const row: McpServerRow = {
      id: there?.id ?? newId('mcpServer', now),
      ...wanted,
      created_at: there?.created_at ?? now,
      updated_at: now,
    };
    if (there) await db.updateTable('mcp_servers').set(row).where('id', '=', row.id).execute();
    else await db.insertInto('mcp_servers').values(row).execute();
    change.invalidate();
    const server = toServer(row);
    const data = { serverId: row.id, name: row.name };
    if (there) change.emit({ type: 'mcp.updated', data, ...changedFields(toServer(there), server) });
    else change.emit({ type: 'mcp.created', data, after: { ...server } });
    return server;
  });
}

async function assertRoom(db: Db): Promise<void> {
  const { count } = await db
    .selectFrom('mcp_servers')
    .select((eb) => eb.fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_SERVERS) throw McpErrors.MCP_SERVER_LIMIT_EXCEEDED({ details: { limit: MAX_SERVERS } });
}
