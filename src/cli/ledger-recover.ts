import { endRolledBackLog } from '../activity/seal/index.ts';
import { servingHosts } from '../operations/index.ts';
import type { Db } from '../storage/index.ts';
import { type Command, EXIT_CONFIG, UsageError } from './command.ts';
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
      const alone = database.dialect === 'sqlite' ? undefined : assertNoneServes;
      const ended = await endRolledBackLog(database, dataDir, Date.now(), alone);
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

/** Throws a UsageError if an instance serves this PostgreSQL database: it would seal nothing until its restart. */
async function assertNoneServes(db: Db): Promise<void> {
  const hosts = await servingHosts(db);
  if (hosts.length > 0)
    throw new UsageError(
      `An instance serves this database on ${hosts.join(', ')}. Stop the service on all machines first; one that ` +
        'was killed counts for 30 seconds. If another log has begun already, a further machine needs this only if ' +
        'its start is refused.',
      EXIT_CONFIG,
    );
}
