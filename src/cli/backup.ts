import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { FolderError, secretsPath } from '../kernel/data-folder.ts';
import { BackupError, writeBackup } from '../operations/backup/index.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { openDatabaseOf, readSettings, useExistingData } from './settings.ts';

/** `legate backup <folder>`: one snapshot of every table, taken while the service runs. */
export const command: Command<{ folder?: string; 'with-secrets'?: boolean }> = {
  argument: { name: 'folder', meaning: 'a new or empty folder' },
  options: {
    'with-secrets': { type: 'boolean', meaning: 'also save secrets.json; protect the backup like that file' },
  },
  notes: 'Restore it with npx legate restore <folder>, into SQLite or PostgreSQL.',
  run: async ({ folder, 'with-secrets': withSecrets }) => {
    if (folder === undefined) throw new UsageError('npx legate backup needs a folder to write to.', EXIT_USAGE);
    const settings = readSettings();
    useExistingData(settings);
    const secrets = secretsPath(settings.values.dataDir);
    if (withSecrets && !existsSync(secrets))
      throw new UsageError(`${secrets} does not exist. Run this in the folder of the service, or set LEGATE_DATA_DIR.`);
    // The service on the same machine has priority.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    const started = Date.now();
    const database = await openDatabaseOf(settings);
    try {
      const { tables, ledger } = await writeBackup(database, resolve(folder), {
        secretsPath: withSecrets ? secrets : undefined,
      });
      const rows = tables.reduce((sum, table) => sum + table.rows, 0);
      process.stdout.write(
        `${database.description}\n` +
          `saved ${rows} rows of ${tables.length} tables, up to entry ${ledger.seq} of the ledger, ` +
          `in ${((Date.now() - started) / 1000).toFixed(1)} s: ${join(resolve(folder), 'manifest.json')}\n`,
      );
      if (settings.values.secret !== undefined)
        process.stdout.write(
          'The keys are in the backup, encrypted under LEGATE_SECRET. Keep a copy of that secret in another place.\n',
        );
      else if (!withSecrets && existsSync(secrets))
        process.stdout.write(
          'Keep a copy of secrets.json in another place. Without it, second factors, webhook secrets and\n' +
            'tokens signed with it cannot be used after a restore.\n',
        );
    } catch (error) {
      if (error instanceof BackupError || error instanceof FolderError) throw new UsageError(error.message);
      throw error;
    } finally {
      await database.close();
    }
  },
};
