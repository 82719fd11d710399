/**
 * The gateway: clients reach existing, unmodified MCP servers through this service.
 *
 * Guarantees: a call is decided and recorded before it is passed on; neither the client's token nor its ids reach the
 * server; a person's connection is shared with others only if the configuration says so; a process of a server ends
 * when it is idle, and when this process ends, even if this process is killed.
 *
 * `relay.ts` is the endpoint of one server, `requests.ts` answers messages of clients, `forward.ts` sends them to the
 * server, `sessions.ts` and `calls-in-turns.ts` pass requests of the server on to clients, `subscriptions.ts` has the
 * resources to which they listen. `upstreams.ts` has the connections to the server, `peer.ts` the protocol on one of
 * them, `stdio-server.ts` `http-server.ts` and `sse-server.ts` the transports. `pins/` has the approved definitions of
 * tools and the endpoints about them, `connections/` the credentials of people for servers that need them. `legate
 * gateway check` uses `list-tools.ts` and `definitions.ts`. Tokens, decisions, filtered lists and refusals come from
 * ../guard; registered servers are in ../servers.
 */
import { defineModule } from '../../platform.ts';
import { callMetrics } from './call-metrics.ts';
import { ConnectionErrors } from './connections/errors.ts';
import { deleteConnectionsOf } from './connections/manage-connections.ts';
import { revokeWaiting } from './connections/oauth/revocations.ts';
import { upstreamFetches } from './connections/oauth/upstream-fetch.ts';
import { watchedPeople } from './connections/opened.ts';
import { connectionRoutes } from './connections/routes.ts';
import { resealConnections, sealedWith } from './connections/store.ts';
import { startWatch, stopWatch, watchState } from './connections/watch.ts';
import {
  finishGateway,
  gatewayPath,
  gatewayServers,
  readPins,
  registerServers,
  stopGateway,
  tokenHashes,
  toolGate,
} from './gateway.ts';
import { permittedLists } from './lists/permitted-lists.ts';
import { GatewayErrors } from './pins/errors.ts';
import { pinsState } from './pins/pins.ts';
import { pinRoutes } from './pins/routes.ts';
import { endLeftGroups } from './process-records.ts';
import { gatewayRoutes } from './routes.ts';

export { connectPath } from './connections/open-for.ts';
export { compareDefinitions, type Lock, LockFile, lockOf } from './definitions.ts';
export { listTools } from './list-tools.ts';
export { decideTool, listPins, toTool } from './pins/manage-pins.ts';
export type { GatewayTool } from './pins/schema.ts';
export { type GatewayServer, InvalidServers, nameProblem, parseServers, type ServersInput } from './servers-file.ts';
export { ProcessEnded } from './stdio-server.ts';
export { gatewayPath };

export const gateway = defineModule({
  name: 'gateway',
  description: 'The gateway to existing MCP servers.',
  routes: [...connectionRoutes, ...gatewayRoutes, ...pinRoutes],
  errors: { ...GatewayErrors, ...ConnectionErrors },
  states: [
    ...[pinsState, callMetrics, watchedPeople, watchState, sealedWith, upstreamFetches, tokenHashes],
    ...[permittedLists, gatewayServers],
  ],
  gate: toolGate,
  upkeep: async (platform) => {
    const relays = [...platform.stateOf(gatewayServers).values()];
    for (const relay of relays) relay.endIdle();
    await Promise.all(relays.map(({ tasks }) => tasks.look()));
    await readPins(platform);
    await resealConnections(platform);
    // Slow authorization servers do not delay the upkeep of this instance.
    if (relays.length > 0) platform.background.run('revoking tokens of the gateway', () => revokeWaiting(platform));
  },
  reactions: {
    'user.deleted': (change, events) =>
      deleteConnectionsOf(
        change,
        events.flatMap(({ userId }) => userId ?? []),
        'user-deleted',
      ),
    // A stranger who created the account before its address was verified may have connected their own accounts.
    'user.updated': (change, events) =>
      deleteConnectionsOf(
        change,
        events.flatMap(({ userId, data }) => (data['reason'] === 'address-proved' && userId) || []),
        'address-proved',
      ),
  },
  gauges: [
    {
      name: 'gateway_connections',
      help: 'Connections of the gateway to MCP servers: processes and sessions over HTTP.',
      read: (platform) =>
        [...platform.stateOf(gatewayServers).values()].reduce((sum, { upstreams }) => sum + upstreams.size, 0),
    },
    {
      name: 'gateway_processes',
      help: 'Processes of MCP servers that the gateway has started.',
      read: (platform) =>
        [...platform.stateOf(gatewayServers).values()]
          .filter(({ server }) => server.url === undefined)
          .reduce((sum, { upstreams }) => sum + upstreams.size, 0),
    },
  ],
  counters: [
    {
      name: 'gateway_calls_total',
      help: 'Tool calls that the gateway forwarded or tried to forward, by server and outcome.',
      read: (platform) =>
        [...platform.stateOf(callMetrics).calls.entries()].map(
          ([server, outcome, count]) => [{ server, outcome: String(outcome) }, count] as const,
        ),
    },
  ],
  histograms: [
    {
      name: 'gateway_call_duration_seconds',
      help: 'Time from the decision about a tool call to its end, by server.',
      read: (platform) =>
        [...platform.stateOf(callMetrics).seconds].map(([server, seconds]) => [{ server }, seconds] as const),
    },
  ],
  start: async (platform) => {
    // A command may run with another base URL than the service, whose clients depend on the registered addresses.
    if (platform.instance.serves) {
      if (platform.stateOf(gatewayServers).size > 0) endLeftGroups(platform.config.dataDir);
      await registerServers(platform);
    }
    await readPins(platform);
    startWatch(platform);
  },
  endStreams: finishGateway,
  stop: async (platform) => {
    await stopWatch(platform);
    await stopGateway(platform);
  },
});
