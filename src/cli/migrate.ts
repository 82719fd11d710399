import { migrate, schemaState } from '../storage/index.ts';
import { type Command, UsageError } from './command.ts';
import { missingDatabase, openDatabaseOf, readSettings } from './settings.ts';

/** `legate migrate`: applies pending migrations, as a start does. */
export const command: Command<{ 'dry-run'?: boolean }> = {
  options: { 'dry-run': { type: 'boolean', meaning: 'list pending migrations without applying them' } },
  run: async ({ 'dry-run': dryRun }) => {
    const settings = readSettings();
    const missing = missingDatabase(settings);
    if (dryRun && missing !== undefined) {
      process.stdout.write(`${missing} does not exist. It would be created with every migration applied.\n`);
      return;
    }
    const database = await openDatabaseOf(settings);
    try {
      const { known, pending, refusal } = await schemaState(database);
      if (refusal !== undefined) throw new UsageError(refusal);
      const say = (text: string): void => void process.stdout.write(`${text}\n`);
      say(database.description);
      for (const name of pending) say(`  ${dryRun ? 'would apply' : 'applying'} ${name}`);
      const { applied } = dryRun ? { applied: known - pending.length } : await migrate(database);
      say(`schema ${applied} of ${known}`);
    } finally {
      await database.close();
    }
  },
};
