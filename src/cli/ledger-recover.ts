import { endRolledBackLog } from '../activity/seal/index.ts';
import type { Command } from './command.ts';
import { openDatabaseOf, readSettings, useDatabaseAlone, useExistingData } from './settings.ts';

/** `legate ledger recover`: ends the sealed log of a database that was restored or rolled back. */
export const command: Command = {
  notes: `Stop the service on all machines first. Proofs and checkpoints of the ended log stay valid. The next
start begins a log with another name, seals every row again, and records ledger.restored with the
size and root of the ended log. On each further machine, run it before the start there: that machine
has the checkpoint of the ended log too, and the log that has begun goes on.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    useDatabaseAlone(settings);
    const { dataDir } = settings.values;
    const database = await openDatabaseOf(settings);
    try {
      const ended = await endRolledBackLog(database, dataDir, Date.now());
      process.stdout.write(
        ended === undefined
          ? 'nothing to do: there is no sealed log\n'
          : ended.current === undefined
            ? `the log ${ended.origin} has ended; the next start begins another\n`
            : `the log ${ended.origin} had ended before; ${ended.current} goes on\n`,
      );
    } finally {
      await database.close();
    }
  },
};
