import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Db, McpServerRow } from '../../storage/index.ts';
import { McpErrors } from './errors.ts';
import { MAX_SERVERS, type McpServer } from './schema.ts';

export const toServer = (row: McpServerRow): McpServer =>
  versioned(
    {
      id: row.id,
      name: row.name,
      endpoint: row.endpoint,
      tools: JSON.parse(row.tools) as string[],
      authRequired: row.auth_required === 1,
      ...(row.rpm === null ? {} : { rateLimit: { rpm: row.rpm } }),
      createdAt: isoTime(row.created_at),
      updatedAt: isoTime(row.updated_at),
    },
    row,
  );

/** Throws 404 MCP_SERVER_NOT_FOUND. */
export async function getServer(db: Db, id: Id<'mcpServer'>): Promise<McpServerRow> {
  const row = isId('mcpServer', id)
    ? await db.selectFrom('mcp_servers').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw McpErrors.MCP_SERVER_NOT_FOUND();
  return row;
}

export const findServerByName = (db: Db, name: string): Promise<McpServerRow | undefined> =>
  db.selectFrom('mcp_servers').selectAll().where('name', '=', name).executeTakeFirst();

/** Returns servers, oldest first, at most `limit`, after the id `after`. */
export async function listServers(
  db: Db,
  page: { limit: number; after?: Id<'mcpServer'> | undefined },
): Promise<McpServerRow[]> {
  let query = db.selectFrom('mcp_servers').selectAll();
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return query.orderBy('id').limit(page.limit).execute();
}

/** Returns all servers. There are at most {@link MAX_SERVERS}. */
export const findServers = (db: Db): Promise<Pick<McpServerRow, 'name' | 'endpoint'>[]> =>
  db.selectFrom('mcp_servers').select(['name', 'endpoint']).orderBy('id').limit(MAX_SERVERS).execute();

/** Returns all registered tools as resources: `mcp:<server>:<tool>`. */
export async function findTools(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('mcp_servers').select(['name', 'tools']).orderBy('id').limit(MAX_SERVERS).execute();
  return rows.flatMap(({ name, tools }) => (JSON.parse(tools) as string[]).map((tool) => `mcp:${name}:${tool}`));
}
