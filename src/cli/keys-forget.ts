import { forgetKeys } from '../operations/keys/index.ts';
import type { Command } from './command.ts';
import { openDatabaseOf, readSettings, useExistingData } from './settings.ts';

/** `legate keys forget`: lets the next start use new keys after those of this database were lost. */
export const command: Command = {
  notes: `For a database whose LEGATE_SECRET or secrets.json is permanently lost. People have to sign in again
and set up their second factor again, and access tokens end. You have to rotate the secrets of
webhooks and set the client secrets of identity providers again. Stop all instances first.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    const database = await openDatabaseOf(settings);
    try {
      await forgetKeys(database);
    } finally {
      await database.close();
    }
    process.stdout.write(
      'The database no longer refers to its former keys. The next start uses the keys of its configuration.\n',
    );
  },
};
