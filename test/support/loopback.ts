import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { TestService } from './service.ts';

/** A server on a free port of the loopback interface, whose listener is set after its address is known. */
export interface LoopbackServer {
  readonly base: string;
  readonly handle: (listener: RequestListener) => void;
}

export function loopbackServers(): { listening: () => Promise<LoopbackServer>; closeAll: () => void } {
  const servers: Server[] = [];
  return {
    async listening() {
      let listener: RequestListener | undefined;
      const server = createServer((req, res) => listener?.(req, res));
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return { base, handle: (next) => (listener = next) };
    },
    closeAll() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

export const listenerOf = (fetch: (request: Request) => Promise<Response>): RequestListener => {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return (req, res) => void listener(req, res);
};

export const withService = (t: TestService): RequestListener =>
  listenerOf((request) => t.legate.fetch(request, { remoteAddress: '127.0.0.1' }));
