import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Listening } from '../http/node.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { packageVersion } from '../kernel/version.ts';
import { assertFitForProduction, findings } from '../operations/index.ts';
import { ensureFirstAdmin } from '../people/users/index.ts';
import { schemaState } from '../storage/index.ts';
import { renderBanner } from './banner.ts';
import type { Command } from './command.ts';
import { freePort, listenOn } from './listen.ts';
import { createLog, printMail } from './log.ts';
import { open, readSettings, rememberAddress, useDatabaseAlone, useDataFolder } from './settings.ts';
import { exitOnCrash, stopOnSignals } from './stop.ts';

/** `legate serve`: creates data folder, schema and first administrator, then serves until a signal stops it. */
export const command: Command = {
  notes: `Settings are environment variables. The ones most often needed:

  PORT, HOST           where to listen (3000, 127.0.0.1)
  LEGATE_BASE_URL      the public address
  LEGATE_DATA_DIR      folder of the database and the keys (./.legate)
  LEGATE_DATABASE_URL  sqlite:<path> or postgres://...

npx legate config lists all of them with their values.`,
  run: async () => {
    keepRequestsYoung();
    const settings = readSettings();
    const { values, production, options } = settings;
    if (production) assertFitForProduction(settings);
    const { refused } = findings(settings);

    const log = createLog(values.log.level);
    exitOnCrash(log);
    useDataFolder(values);
    useDatabaseAlone(settings);
    const { host } = values.http;
    const free = values.http.port === 0 ? await freePort(host) : undefined;
    const port = free ?? values.http.port;
    const legate = await open(free === undefined ? {} : { http: { port: free } }, {
      ...options,
      log,
      printMail: (mail) => printMail(values.log, mail),
    });
    let listening: Listening | undefined;
    const stop = async (): Promise<void> => {
      await listening?.stop();
      await legate.close();
    };
    try {
      const firstAdmin = legate.firstAdmin ?? (await ensureFirstAdmin(legate.platform));
      const schema = await schemaState(legate.platform.database);
      const sealKeys = values.ledger.seal === 'off' ? [] : (await legate.ledger.keys()).keys;
      listening = await listenOn(legate, port, host);
      const drainMs = values.shutdown.drainSeconds * SECOND_MS;
      stopOnSignals({ drainMs, drain: () => legate.drain(), stop, log });
      rememberAddress(values.dataDir, legate.baseUrl + values.http.restPath.replace(/\/$/, ''));
      const readyAfterMs = Math.round(performance.now());
      const { isTTY } = process.stdout;
      process.stdout.write(
        renderBanner(
          {
            legate,
            version: packageVersion(),
            production,
            host,
            port: listening.port,
            dataDir: resolve(values.dataDir),
            schema,
            firstAdmin,
            readyAfterMs,
            refused,
            sealKeys,
          },
          isTTY && !process.env['NO_COLOR'],
        ),
      );
      if (!isTTY)
        log.info(
          { version: packageVersion(), url: legate.baseUrl, host, port: listening.port, sealKeys, readyAfterMs },
          'listening',
        );
    } catch (error) {
      // A server that is still listening would keep the process alive, and a supervisor would not restart it.
      await stop();
      throw error;
    }
  },
};

/**
 * Once a hundred objects of one allocation site survive a garbage collection, V8 allocates all later ones in the old
 * space. The requests that wait for one commit are enough for this. After that, every decision would leave garbage that
 * only a full collection removes.
 */
const keepRequestsYoung = (): void => setFlagsFromString('--no-allocation-site-pretenuring');
