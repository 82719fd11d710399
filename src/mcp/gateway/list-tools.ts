import { packageVersion } from '../../kernel/version.ts';
import type { Message, RpcError } from '../guard/json-rpc.ts';
import { ALL_CAPABILITIES, capabilitiesForServer } from './client-requests.ts';
import type { Tool } from './definitions.ts';
import { openHttp } from './http-server.ts';
import { MODERN_REVISION } from './messages.ts';
import { type Answer, type OpenChannel, Peer } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';
import { openProcess } from './stdio-server.ts';

const MAX_PAGES = 100;
/** The latest revision of MCP with `initialize`. */
export const INITIALIZE_REVISION = '2025-11-25';

/** The description of a server from its answer to `initialize` or `server/discover`. */
export interface ServerInfo {
  readonly revision: string;
  readonly capabilities: Message;
  readonly serverInfo: Message;
  readonly instructions: string | undefined;
}

/** With a data folder, a process is recorded there while it runs. */
export const channelOf = (server: GatewayServer, dataDir?: string): OpenChannel =>
  server.url === undefined ? openProcess(server, dataDir) : openHttp(server, server.url);

/** The server answered with an error. `summary` has no text of the server, which may contain secrets. */
export class ErrorAnswer extends Error {
  readonly summary: string;

  constructor({ code, message }: RpcError) {
    const summary = `it answered with error ${Number(code)}`;
    super(`${summary}: ${message}`);
    this.summary = summary;
  }
}

/** Returns the result of an answer. Throws {@link ErrorAnswer}. */
function resultOf(answer: Answer): Message {
  if ('error' in answer) throw new ErrorAnswer(answer.error);
  return answer.result;
}

const objectOr = (value: unknown): Message => (typeof value === 'object' && value !== null ? (value as Message) : {});

const clientInfo = { name: 'legate', version: packageVersion() };

/**
 * Opens a connection in the revision that the server supports. Sends `initialize` first, because servers of earlier
 * revisions may crash on another first message. Declares every request that clients may be able to answer.
 */
export async function introduce(peer: Peer, server: GatewayServer, timeoutMs: number): Promise<ServerInfo> {
  const capabilities = capabilitiesForServer(ALL_CAPABILITIES, server);
  const params = { protocolVersion: INITIALIZE_REVISION, capabilities, clientInfo };
  const answer = await peer.request('initialize', params, { timeoutMs });
  if ('error' in answer) return (await discover(peer, timeoutMs)) ?? infoOf(resultOf(answer), INITIALIZE_REVISION);
  peer.notify('notifications/initialized');
  return infoOf(answer.result, String(answer.result['protocolVersion']));
}

/** Returns undefined if the server does not support 2026-07-28 either. */
async function discover(peer: Peer, timeoutMs: number): Promise<ServerInfo | undefined> {
  peer.envelope = {
    'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
    'io.modelcontextprotocol/clientInfo': clientInfo,
  };
  const answer = await peer.request('server/discover', {}, { timeoutMs }).catch(() => undefined);
  const versions = answer && 'result' in answer ? answer.result['supportedVersions'] : undefined;
  if (Array.isArray(versions) && versions.includes(MODERN_REVISION) && answer && 'result' in answer)
    return infoOf(answer.result, MODERN_REVISION);
  peer.envelope = undefined;
  return undefined;
}

const infoOf = ({ capabilities, serverInfo, instructions, _meta }: Message, revision: string): ServerInfo => ({
  revision,
  capabilities: objectOr(capabilities),
  serverInfo: objectOr(serverInfo ?? objectOr(_meta)['io.modelcontextprotocol/serverInfo']),
  instructions: typeof instructions === 'string' ? instructions : undefined,
});

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
    return await readTools(peer, await introduce(peer, server, timeoutMs), timeoutMs);
  } catch (error) {
    throw ended ?? error;
  } finally {
    await peer.close();
  }
}
