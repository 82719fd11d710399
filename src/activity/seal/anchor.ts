import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'ledger-anchor';

const pathOf = (dataDir: string): string => join(dataDir, FILE);

/**
 * The newest checkpoint that was signed with this data folder, a signed note. It remains when the database is restored
 * from a backup.
 */
export function readAnchor(dataDir: string): string | undefined {
  try {
    return readFileSync(pathOf(dataDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the anchor atomically. It is durable on return. */
export const writeAnchor = (dataDir: string, note: string): void => replaceFile(dataDir, FILE, note);

/** Replaces a file of a folder atomically. It is durable on return. */
export function replaceFile(dir: string, name: string, text: string, mode = 0o600): void {
  const path = join(dir, name);
  const temporary = `${path}.${process.pid}`;
  const file = openSync(temporary, 'w', mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(dir, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Removes the anchor of a log that has ended, as recorded in the database. */
export const removeAnchor = (dataDir: string): void => rmSync(pathOf(dataDir), { force: true });
