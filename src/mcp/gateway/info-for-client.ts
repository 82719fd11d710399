import type { ServerInfo } from './list-tools.ts';
import { NotConnected } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';
import type { Upstreams } from './upstreams.ts';

/**
 * Returns a server's description of itself. A client may connect before the person has connected: the answers to its
 * calls then explain what to do.
 */
export async function infoOrNotConnected(
  { upstreams, server }: { readonly upstreams: Upstreams; readonly server: GatewayServer },
  key: string,
): Promise<ServerInfo> {
  try {
    return await upstreams.info(key);
  } catch (error) {
    if (!(error instanceof NotConnected)) throw error;
    const serverInfo = { name: server.name, version: '' };
    return { revision: '', capabilities: { tools: { listChanged: true } }, serverInfo, instructions: error.message };
  }
}
