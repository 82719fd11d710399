import { forgetKeys } from '../operations/keys/index.ts';
import { openDatabase } from '../storage/index.ts';
import type { Command } from './command.ts';
import { databaseUrlOf, readSettings, useExistingData } from './settings.ts';

/** `legate keys forget`: lets the next start use other keys, after the ones of this database are lost. */
export const command: Command = {
  notes: `For a database whose keys are lost for good: its LEGATE_SECRET or secrets.json. People sign in
again and set up their second factor anew; access tokens end; secrets of webhooks have to be
rotated, client secrets of identity providers set again. Stop all instances first.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    const database = await openDatabase(databaseUrlOf(settings), { serviceName: settings.values.service.name });
    try {
      await forgetKeys(database);
    } finally {
      await database.close();
    }
    process.stdout.write(
      'The database no longer knows its former keys. The next start uses those of its configuration.\n',
    );
  },
};
