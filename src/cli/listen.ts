import { createServer } from 'node:net';
import { type Listening, listen } from '../http/node.ts';
import type { Legate } from '../service.ts';
import { UsageError } from './command.ts';

/** Returns a UsageError if the address cannot be used, otherwise the error itself. */
function explained(error: unknown, port: number, host: string): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new UsageError(`Port ${port} of ${host} is in use. Stop the other process, or set PORT to another port.`);
    case 'EACCES':
      return new UsageError(`This user may not use port ${port} of ${host}. Set PORT to a number above 1023.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new UsageError(`HOST is ${host}, which is not an address of this machine.`);
    default:
      return error;
  }
}

/** Listens. Throws a UsageError for an address that cannot be used. */
export async function listenOn(legate: Legate, port: number, host: string): Promise<Listening> {
  try {
    return await listen(legate, { port, host });
  } catch (error) {
    throw explained(error, port, host);
  }
}

/**
 * Finds a port for `http.port` 0, because the base URL has to be known before the service listens. Throws a UsageError
 * for an address that cannot be used.
 */
export const freePort = (host: string): Promise<number> =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once('error', (error) => failed(explained(error, 0, host)));
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
