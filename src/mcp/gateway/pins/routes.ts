import { z } from 'zod';
import { cutPage, nextPage, textOfCursor } from '../../../http/page.ts';
import { isoTime } from '../../../kernel/clock.ts';
import { type Call, defineRoute, type Platform } from '../../../platform.ts';
import { announceChanges, gatewayServers } from '../gateway.ts';
import type { Relay } from '../relay.ts';
import { GatewayErrors } from './errors.ts';
import { countPins, decideTool, listPins, recordRestart, toTool } from './manage-pins.ts';
import { pinsState } from './pins.ts';
import { ApproveTool, GatewayServerView, GatewayTool, ListTools } from './schema.ts';

const { GATEWAY_SERVER_NOT_FOUND, GATEWAY_TOOL_NOT_FOUND, GATEWAY_TOOL_CHANGED } = GatewayErrors;
const ofServer = z.object({ name: z.string() });
const ofTool = z.object({ name: z.string(), tool: z.string() });

/** Throws 404 GATEWAY_SERVER_NOT_FOUND. */
function getRelay({ stateOf }: Pick<Platform, 'stateOf'>, name: string): Relay {
  const relay = stateOf(gatewayServers).get(name);
  if (!relay) throw GATEWAY_SERVER_NOT_FOUND();
  return relay;
}

async function listServers(platform: Pick<Platform, 'database' | 'stateOf'>): Promise<GatewayServerView[]> {
  const db = platform.database.read;
  const baselines = await db.selectFrom('gateway_servers').select(['name', 'baseline_at']).execute();
  const counts = await countPins(db);
  return [...platform.stateOf(gatewayServers).values()].map(({ server, endpoint, upstreams }) => {
    const { isolation, pin, limits } = server.legate;
    const tools = { approved: 0, new: 0, changed: 0, blocked: 0 };
    if (pin !== 'off')
      for (const { server: name, state, count } of counts) if (name === server.name) tools[state] = Number(count);
    const baselineAt = baselines.find(({ name }) => name === server.name)?.baseline_at ?? null;
    return {
      name: server.name,
      url: endpoint,
      transport: server.url === undefined ? 'stdio' : 'http',
      state: upstreams.size > 0 ? 'running' : upstreams.problem === undefined ? 'idle' : 'failing',
      problem: upstreams.problem ?? null,
      processes: upstreams.size,
      maxProcesses: limits.processes,
      isolation,
      pin,
      tools,
      baselineAt: pin === 'off' || baselineAt === null ? null : isoTime(baselineAt),
    };
  });
}

/** Throws 404: a server whose definitions are ignored has no tools here. */
function assertPinned({ server }: Relay): void {
  if (server.legate.pin === 'off') throw GATEWAY_TOOL_NOT_FOUND();
}

async function decide(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  call: Call<z.output<typeof ofTool>, unknown, unknown>,
  decision: { readonly decision: 'approve' | 'block'; readonly definition?: string | undefined },
): Promise<GatewayTool> {
  const { name, tool } = call.params;
  assertPinned(getRelay(platform, name));
  const decided = await decideTool(platform, call, { server: name, tool, ...decision });
  await platform.stateOf(pinsState).load();
  announceChanges(platform);
  return decided;
}

/** Contract, section 20: servers behind the gateway and their tools. */
export const pinRoutes = [
  defineRoute({
    method: 'GET',
    path: '/gateway/servers',
    summary: 'List the MCP servers behind the gateway',
    description:
      'Lists the servers of `gateway.servers`. The answer contains no commands, environment variables or headers.',
    access: 'admin',
    responses: { 200: z.array(GatewayServerView) },
    handle: async (_call, platform) => ({ status: 200, body: await listServers(platform) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/gateway/servers/:name/tools',
    summary: 'List the tools of an MCP server behind the gateway',
    description:
      'Sorted by name, with the approved definition and the one that the server listed last. A Link header with ' +
      'rel="next" points to the next page.',
    access: 'admin',
    params: ofServer,
    query: ListTools,
    responses: { 200: z.array(GatewayTool) },
    errors: [GATEWAY_SERVER_NOT_FOUND],
    handle: async ({ params, query: { limit, cursor, state }, url }, platform) => {
      const { server } = getRelay(platform, params.name);
      const page = { limit: limit + 1, after: textOfCursor(cursor), state };
      const found = server.legate.pin === 'off' ? [] : await listPins(platform.database.read, params.name, page);
      const { rows, next } = cutPage(
        found.map((row) => ({ id: row.tool, row })),
        limit,
      );
      return { status: 200, body: rows.map(({ row }) => toTool(row)), ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/gateway/servers/:name/tools/:tool/approve',
    summary: 'Approve a tool of an MCP server',
    description:
      'Approves the definition that the server listed last. Agents with a permission can see and call the tool again.',
    access: 'admin',
    params: ofTool,
    body: ApproveTool,
    bodyOptional: true,
    responses: { 200: GatewayTool },
    errors: [GATEWAY_SERVER_NOT_FOUND, GATEWAY_TOOL_NOT_FOUND, GATEWAY_TOOL_CHANGED],
    handle: async (call, platform) => ({
      status: 200,
      body: await decide(platform, call, { decision: 'approve', ...call.body }),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/gateway/servers/:name/tools/:tool/block',
    summary: 'Block a tool of an MCP server',
    description: 'No agent can see or call it until it is approved.',
    access: 'admin',
    params: ofTool,
    responses: { 200: GatewayTool },
    errors: [GATEWAY_SERVER_NOT_FOUND, GATEWAY_TOOL_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await decide(platform, call, { decision: 'block' }) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/gateway/servers/:name/restart',
    summary: 'Restart an MCP server behind the gateway',
    description:
      'Ends its processes and sessions, on all instances within a few seconds. The next call opens a new one. Calls ' +
      'in progress end with an unknown outcome.',
    access: 'admin',
    params: ofServer,
    responses: { 204: null },
    errors: [GATEWAY_SERVER_NOT_FOUND],
    handle: async (call, platform) => {
      const { name } = call.params;
      const { upstreams } = getRelay(platform, name);
      platform.stateOf(pinsState).restarted(name, await recordRestart(platform, call, name));
      platform.background.run('ending the connections of a server', () => upstreams.end());
      return { status: 204 };
    },
  }),
];
