import { checkSealedLedger } from '../activity/seal/index.ts';
import type { Command } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/** `legate ledger check`: computes all leaves, tiles and the root again from the database. */
export const command: Command = {
  notes: `Works while the service runs. Exit code: 0 if all rows are as they were sealed, 1 if a row, a tile or
the signed root differs. It cannot detect rows that were rewritten together with their hashes before
a checkpoint left the database.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    const { size, firstBad, problem } = await withLegate(settings, ({ platform }) => checkSealedLedger(platform));
    if (problem === undefined)
      return void process.stdout.write(
        `${size === 1 ? '1 row is as it was' : `${size} rows are as they were`} sealed\n`,
      );
    process.exitCode = 1;
    process.stdout.write(`${problem}\n${firstBad === undefined ? '' : `the first bad row is ${firstBad}\n`}`);
  },
};
