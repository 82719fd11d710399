import { packageVersion } from '../../kernel/version.ts';
import type { Tool } from './definitions.ts';
import { openHttp } from './http-server.ts';
import type { GatewayServer } from './servers-file.ts';
import { openProcess } from './stdio-server.ts';

const MAX_PAGES = 100;

/** Returns the tools of a server, all pages. Ends the process or session. Throws if the server does not answer. */
export async function listTools(server: GatewayServer): Promise<Tool[]> {
  const signal = AbortSignal.timeout(server.legate.limits.callSeconds * 1000);
  const connection = server.url === undefined ? openProcess(server, signal) : openHttp(server, server.url, signal);
  try {
    const { capabilities } = await connection.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'legate', version: packageVersion() },
    });
    await connection.notify('notifications/initialized');
    if (!(capabilities as Record<string, unknown> | undefined)?.['tools']) return [];
    const tools = new Map<string, Tool>();
    let cursor: unknown;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      if (page === MAX_PAGES) throw new Error(`its list of tools has more than ${MAX_PAGES} pages`);
      const result = await connection.request('tools/list', cursor === undefined ? {} : { cursor });
      if (!Array.isArray(result['tools'])) throw new Error('its list of tools is malformed');
      for (const tool of result['tools'] as Tool[]) {
        if (typeof tool?.name !== 'string') throw new Error('a tool has no name');
        if (tools.has(tool.name)) throw new Error(`it has two tools named ${tool.name}`);
        tools.set(tool.name, tool);
      }
      cursor = result['nextCursor'];
    }
    return [...tools.values()];
  } finally {
    await connection.close();
  }
}
