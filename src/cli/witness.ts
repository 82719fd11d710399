import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Undecidable } from '../verify/index.ts';
import { openWitness, serveWitness, type Witness } from '../witness/index.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { createLog } from './log.ts';
import { stopOnSignals } from './stop.ts';

const DEFAULT_PORT = 3100;

/** `legate witness`: cosigns checkpoints of sealed ledgers that continue the ones it cosigned before. */
export const command: Command<{ name?: string; log?: string[]; data?: string; host?: string; port?: string }> = {
  options: {
    name: { type: 'string', value: 'name', meaning: "name of the witness's key, by convention its public address" },
    log: { type: 'string', multiple: true, value: 'vkey', meaning: 'verifier key of a ledger to cosign' },
    data: {
      type: 'string',
      value: 'folder',
      meaning: 'contains the key and the last checkpoints; .legate-witness by default',
    },
    host: { type: 'string', value: 'address', meaning: 'address to listen on; 127.0.0.1 by default' },
    port: { type: 'string', value: 'number', meaning: `port to listen on; ${DEFAULT_PORT} by default, 0 for any` },
  },
  notes: `POST /add-checkpoint and GET /<SHA-256 of an origin>/checkpoint (C2SP tlog-witness). Put a proxy with TLS in
front of it. Keep the folder: without it, a witness cannot detect a different history.`,
  run: async ({ name, log = [], data = '.legate-witness', host = '127.0.0.1', port = String(DEFAULT_PORT) }) => {
    if (name === undefined || log.length === 0)
      throw new UsageError('Name the witness with --name and each ledger with --log <verifier key>.', EXIT_USAGE);
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      throw new UsageError('--port must be a number from 0 to 65535.', EXIT_USAGE);
    const witness = open(name, log, resolve(data));
    const output = createLog('warn');
    const server = serveWitness(witness, (err) => output.error({ err }, 'a checkpoint could not be stored'));
    server.listen(Number(port), host);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`Port ${port} of ${host} cannot be used (${error.code}).`);
    });
    process.stdout.write(
      `Witness   ${witness.vkey}\nAddress   http://${host}:${(server.address() as AddressInfo).port}\n`,
    );
    for (const { origin } of witness.forks()) process.stdout.write(`Fork seen ${origin}\n`);
    stopOnSignals({
      drainMs: 0,
      drain: () => {},
      stop: async () => {
        server.closeAllConnections();
        await new Promise((closed) => server.close(closed));
        witness.close();
      },
      log: output,
    });
  },
};

function open(name: string, logs: readonly string[], folder: string): Witness {
  try {
    return openWitness({ name, logs, folder });
  } catch (error) {
    if (error instanceof Undecidable) throw new UsageError(error.message, EXIT_USAGE);
    throw error;
  }
}
