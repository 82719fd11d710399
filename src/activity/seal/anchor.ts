import {
  closeSync,
  existsSync,
  fsync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MINUTE_MS } from '../../kernel/clock.ts';

const FILE = 'ledger-anchor';

/** The name of a file, the process that replaces it, and a number. */
const TEMPORARY = /^(.+)\.\d+\.\d+$/;

const sync = promisify(fsync);

/** Two services of one process may have one folder. */
let written = 0;

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

/** Replaces the anchor atomically. It is durable when this resolves. Calls must not overlap. */
export const writeAnchor = (dataDir: string, note: string): Promise<void> => replaceFile(dataDir, FILE, note);

/**
 * Replaces a file of a folder atomically. It is durable when this resolves. If the disk is full, nothing remains of the
 * attempt. Calls for one file must not overlap.
 */
export async function replaceFile(dir: string, name: string, text: string, mode = 0o600): Promise<void> {
  const path = join(dir, name);
  const temporary = `${path}.${process.pid}.${++written}`;
  const file = openSync(temporary, 'w', mode);
  try {
    try {
      const bytes = Buffer.from(text);
      // A disk that is nearly full may take a part of them.
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      await sync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  const folder = openSync(dir, 'r');
  try {
    await sync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Removes what a process that was killed during {@link writeAnchor} has left. */
export const removeUnfinishedAnchors = (dataDir: string): void => removeUnfinished(dataDir, (name) => name === FILE);

/**
 * Removes the temporary files that a process which was killed during {@link replaceFile} has left. Newer ones remain,
 * because another process may be writing them.
 */
export function removeUnfinished(dir: string, isReplaced: (name: string) => boolean): void {
  if (!existsSync(dir)) return;
  const before = Date.now() - MINUTE_MS;
  for (const file of readdirSync(dir)) {
    const name = TEMPORARY.exec(file)?.[1];
    if (name === undefined || !isReplaced(name)) continue;
    const path = join(dir, file);
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) rmSync(path, { force: true });
  }
}

/** Removes the anchor of a log that has ended, as recorded in the database. */
export const removeAnchor = (dataDir: string): void => rmSync(pathOf(dataDir), { force: true });
