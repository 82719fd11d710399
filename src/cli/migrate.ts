import { join } from 'node:path';
import { migrate, openDatabase, schemaState } from '../storage/index.ts';
import type { Command } from './command.ts';
import { readSettings } from './settings.ts';

/** `legate migrate`: brings the schema up to date, as a start does. */
export const command: Command<{ 'dry-run'?: boolean }> = {
  options: { 'dry-run': { type: 'boolean', meaning: 'say what would be done, and do nothing' } },
  run: async ({ 'dry-run': dryRun }) => {
    const { values } = readSettings();
    const database = await openDatabase(values.databaseUrl ?? `sqlite:${join(values.dataDir, 'legate.db')}`, {
      serviceName: values.service.name,
    });
    try {
      const { known, pending } = await schemaState(database);
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
