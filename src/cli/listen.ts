import { createServer } from 'node:net';
import { type Listening, listen } from '../http/node.ts';
import type { Legate } from '../service.ts';
import { UsageError } from './command.ts';

/** What chooses the port of a command. */
type PortSetting = 'PORT' | '--port';

/** Returns a UsageError if the address cannot be used, otherwise the error itself. */
function explained(error: unknown, port: number, host: string, setting: PortSetting): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new UsageError(
        `Port ${port} of ${host} is in use. Stop the other process, or set ${setting} to another port.`,
      );
    case 'EACCES':
      return new UsageError(`This user may not use port ${port} of ${host}. Set ${setting} to a number above 1023.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new UsageError(`HOST is ${host}, which is not an address of this machine.`);
    default:
      return error;
  }
}

/** Listens. Throws a UsageError for an address that cannot be used. */
export async function listenOn(
  legate: Legate,
  port: number,
  host: string,
  setting: PortSetting = 'PORT',
): Promise<Listening> {
  try {
    return await listen(legate, { port, host });
  } catch (error) {
    throw explained(error, port, host, setting);
  }
}

/**
 * Returns `port` if it is free, and any free port for 0. The base URL has to be known before the service listens.
 * Throws a UsageError for an address that cannot be used.
 */
export const freePort = (host: string, port = 0, setting: PortSetting = 'PORT'): Promise<number> =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once('error', (error) => failed(explained(error, port, host, setting)));
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
