import { createServer } from 'node:net';
import { type Listening, listen } from '../http/node.ts';
import type { Legate } from '../service.ts';
import { UsageError } from './command.ts';

/** Listens, and turns an address that cannot be used into a UsageError. */
export async function listenOn(legate: Legate, port: number, host: string): Promise<Listening> {
  try {
    return await listen(legate, { port, host });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new UsageError(`Port ${port} of ${host} is in use. Stop the other process, or set PORT to another port.`);
    if (code === 'EACCES')
      throw new UsageError(`This user may not use port ${port} of ${host}. Set PORT to a number above 1023.`);
    if (code === 'EADDRNOTAVAIL') throw new UsageError(`HOST is ${host}, which is not an address of this machine.`);
    throw error;
  }
}

/** Finds a port for `http.port` 0, because the base URL has to be known before the service listens. */
export const freePort = (host: string): Promise<number> =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
