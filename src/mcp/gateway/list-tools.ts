import { packageVersion } from '../../kernel/version.ts';
import type { Message } from '../guard/json-rpc.ts';
import { ALL_CAPABILITIES, capabilitiesForServer } from './client-requests.ts';
import type { Tool } from './definitions.ts';
import { openHttp } from './http-server.ts';
import { type Answer, type OpenChannel, Peer } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';
import { openProcess } from './stdio-server.ts';

const MAX_PAGES = 100;
/** The latest revision of MCP with `initialize`. */
export const INITIALIZE_REVISION = '2025-11-25';

/** What a server says about itself. */
export interface ServerInfo {
  readonly capabilities: Message;
  readonly serverInfo: Message;
  readonly instructions: string | undefined;
}

/** With a data folder, a process is recorded there while it runs. */
export const channelOf = (server: GatewayServer, dataDir?: string): OpenChannel =>
  server.url === undefined ? openProcess(server, dataDir) : openHttp(server, server.url);

/** Returns the result of an answer. Throws its error. */
function resultOf(answer: Answer): Message {
  if ('error' in answer) throw new Error(`it answered with error ${answer.error.code}: ${answer.error.message}`);
  return answer.result;
}

const objectOr = (value: unknown): Message => (typeof value === 'object' && value !== null ? (value as Message) : {});

/** Opens a session. Declares what clients of the gateway may be asked, whether or not a client can answer it. */
export async function initialize(peer: Peer, server: GatewayServer, timeoutMs: number): Promise<ServerInfo> {
  const params = {
    protocolVersion: INITIALIZE_REVISION,
    capabilities: capabilitiesForServer(ALL_CAPABILITIES, server),
    clientInfo: { name: 'legate', version: packageVersion() },
  };
  const result = resultOf(await peer.request('initialize', params, { timeoutMs }));
  peer.notify('notifications/initialized');
  const { capabilities, serverInfo, instructions } = result;
  return {
    capabilities: objectOr(capabilities),
    serverInfo: objectOr(serverInfo),
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

/** Returns all pages of `tools/list`. Throws if the list is malformed. */
export async function readTools(peer: Peer, { capabilities }: ServerInfo, timeoutMs: number): Promise<Tool[]> {
  if (!capabilities['tools']) return [];
  const tools = new Map<string, Tool>();
  let cursor: unknown;
  for (let page = 0; page === 0 || cursor !== undefined; page++) {
    if (page === MAX_PAGES) throw new Error(`its list of tools has more than ${MAX_PAGES} pages`);
    const params = cursor === undefined ? {} : { cursor };
    const result = resultOf(await peer.request('tools/list', params, { timeoutMs }));
    if (!Array.isArray(result['tools'])) throw new Error('its list of tools is malformed');
    for (const tool of result['tools'] as Tool[]) {
      if (typeof tool?.name !== 'string') throw new Error('a tool has no name');
      if (tools.has(tool.name)) throw new Error(`it has two tools named ${tool.name}`);
      tools.set(tool.name, tool);
    }
    cursor = result['nextCursor'];
  }
  return [...tools.values()];
}

/** Returns the tools of a server. Ends the process or session. Throws if the server does not answer. */
export async function listTools(server: GatewayServer): Promise<Tool[]> {
  const timeoutMs = server.legate.limits.callSeconds * 1000;
  let ended: Error | undefined;
  const peer = new Peer(channelOf(server), {
    ended: (error) => {
      ended = error;
    },
  });
  try {
    return await readTools(peer, await initialize(peer, server, timeoutMs), timeoutMs);
  } catch (error) {
    throw ended ?? error;
  } finally {
    await peer.close();
  }
}
