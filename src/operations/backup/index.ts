/**
 * Backup and restore: every table of one installation as files in a folder, and back into an empty database.
 *
 * Guarantees: a backup is one snapshot, taken while the service runs; it is complete once its manifest exists; a
 * damaged or incomplete backup is refused before anything is written; a restore is one transaction. The format does
 * not depend on the database, so a backup of SQLite can be restored into PostgreSQL and the other way round.
 *
 * The commands are in cli/backup.ts and cli/restore.ts. Migrations are in storage/.
 */
export { BackupError } from './backup-error.ts';
export { readManifest } from './manifest.ts';
export { restoreBackup } from './restore-backup.ts';
export { writeBackup } from './write-backup.ts';
