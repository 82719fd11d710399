import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { endRolledBackLog } from '../activity/seal/index.ts';
import { createFolder, createPrivateFile, FolderError, secretsPath } from '../kernel/data-folder.ts';
import { BackupError, readManifest, restoreBackup } from '../operations/backup/index.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { openDatabaseOf, readSettings } from './settings.ts';

/** `legate restore <folder>`: fills an empty database from a backup. */
export const command: Command<{ folder?: string }> = {
  argument: { name: 'folder', meaning: 'the folder of the backup' },
  notes:
    'Stop the service first. The data is restored to LEGATE_DATABASE_URL and LEGATE_DATA_DIR; SQLite and PostgreSQL\n' +
    'accept backups of either.',
  run: async ({ folder }) => {
    if (folder === undefined) throw new UsageError('npx legate restore needs the folder of a backup.', EXIT_USAGE);
    const dir = resolve(folder);
    try {
      const { secrets: saved } = readManifest(dir);
      const settings = readSettings();
      const { dataDir } = settings.values;
      const secrets = secretsPath(dataDir);
      if (saved && existsSync(secrets) && !readFileSync(secrets).equals(readFileSync(resolve(dir, saved.file))))
        throw new BackupError(
          `${secrets} has other keys than the backup. Move it away to use the keys of the backup, or set another ` +
            'LEGATE_DATA_DIR.',
        );
      createFolder(dataDir, { parents: true });
      const database = await openDatabaseOf(settings);
      try {
        // The keys come first: the command cannot be repeated once the database has data.
        const restored = await restoreBackup(database, dir, {
          beforeCommit: (backup) => {
            if (backup.secrets && !existsSync(secrets)) createPrivateFile(secrets, backup.secrets);
          },
        });
        // The folder may have a newer checkpoint of the log that has ended with the restore.
        await endRolledBackLog(database, dataDir, Date.now());
        const { tables, ledger, version, createdAt } = restored.manifest;
        const rows = tables.reduce((sum, table) => sum + table.rows, 0);
        process.stdout.write(
          `${database.description}\n` +
            `restored ${rows} rows of ${tables.length} tables, up to entry ${ledger.seq} of the ledger, ` +
            `from the backup of ${createdAt} (Legate ${version})\n`,
        );
        if (settings.values.secret === undefined && !existsSync(secrets))
          process.stdout.write(
            `The backup has no keys. Copy secrets.json of the earlier service to ${secrets} before you start,\n` +
              'or second factors, webhook secrets and signed tokens cannot be used.\n',
          );
      } finally {
        await database.close();
      }
    } catch (error) {
      if (error instanceof BackupError || error instanceof FolderError) throw new UsageError(error.message);
      throw error;
    }
  },
};
