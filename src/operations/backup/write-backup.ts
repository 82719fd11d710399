import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { SECOND_MS } from '../../kernel/clock.ts';
import { createFolder } from '../../kernel/data-folder.ts';
import { packageVersion } from '../../kernel/version.ts';
import { assertWhole } from '../../ledger/index.ts';
import { type Database, DatabaseError, schemaState } from '../../storage/index.ts';
import { BackupError } from './backup-error.ts';
import { MANIFEST_FILE, type Manifest, SECRETS_FILE, serializeManifest, sha256, tableFile } from './manifest.ts';
import { openSnapshot, type Snapshot, type Value } from './snapshot.ts';
import { columnsOf, ledgerEnd, SAVED_TABLES } from './tables.ts';

/**
 * Maximum number of rows a second. A million rows take 20 seconds, which leaves processor and disk time for decisions.
 */
const ROWS_A_SECOND = 50_000;
/** Syncing a large file at once would make the commits of decisions wait for it. */
const SYNC_BYTES = 4 * 1024 * 1024;

/**
 * Writes a backup of a database, which may be in use, into a folder that is empty or does not exist.
 *
 * @param secretsPath File of the data folder's keys, if they are to be in the backup.
 * @throws BackupError if the folder is not empty or the database is of another version.
 */
export async function writeBackup(
  database: Database,
  dir: string,
  { secretsPath, onTable }: { secretsPath?: string | undefined; onTable?: (name: string, rows: number) => void } = {},
): Promise<Manifest> {
  createFolder(dir);
  if (readdirSync(dir).length > 0) throw new BackupError(`${dir} is not empty. Give an empty or a new folder.`);
  const { pending, refusal, migrations } = await schemaState(database);
  if (pending.length > 0 || refusal !== undefined)
    throw new BackupError(
      `${database.description} is of another version of Legate. Back it up with that version, or run npx legate ` +
        `migrate.`,
    );
  await assertWhole(database).catch((error: unknown) => {
    throw error instanceof DatabaseError ? new BackupError(error.message) : error;
  });
  const columns = await columnsOf(database);
  const snapshot = await openSnapshot(database);
  try {
    const tables: Manifest['tables'] = [];
    for (const name of SAVED_TABLES) {
      const table = await writeTable(dir, snapshot, name, columns.get(name) ?? []);
      tables.push(table);
      onTable?.(name, table.rows);
    }
    const manifest: Manifest = {
      format: 1,
      version: packageVersion(),
      createdAt: new Date().toISOString(),
      database: database.dialect,
      migrations: migrations,
      ledger: await ledgerEnd(snapshot, columns),
      tables,
      secrets: secretsPath === undefined ? null : await writeSecrets(dir, secretsPath),
    };
    // The manifest comes last: a backup without it was interrupted.
    await writeDurably(join(dir, MANIFEST_FILE), serializeManifest(manifest));
    return manifest;
  } finally {
    await snapshot.close();
  }
}

async function writeTable(
  dir: string,
  snapshot: Snapshot,
  name: string,
  columns: readonly string[],
): Promise<Manifest['tables'][number]> {
  let rows = 0;
  const startedAt = performance.now();
  async function* lines(): AsyncGenerator<string> {
    for await (const chunk of snapshot.rows(name, columns)) {
      rows += chunk.length;
      yield chunk.map(toLine).join('');
      const aheadMs = startedAt + (rows / ROWS_A_SECOND) * SECOND_MS - performance.now();
      if (aheadMs > 1) await wait(aheadMs);
    }
  }
  const hash = createHash('sha256');
  const hashing = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const file = tableFile(name);
  await pipeline(Readable.from(lines()), createGzip({ level: 1 }), hashing, await durableFile(join(dir, file)));
  return { name, columns: [...columns], rows, file, sha256: hash.digest('hex') };
}

/** A new file whose content is on the disk when it has ended. */
async function durableFile(path: string): Promise<Writable> {
  const file = await open(path, 'wx', 0o600);
  let unsynced = 0;
  const write = async (chunk: Buffer): Promise<void> => {
    await file.writeFile(chunk);
    unsynced += chunk.length;
    if (unsynced < SYNC_BYTES) return;
    unsynced = 0;
    await file.datasync();
  };
  return new Writable({
    write: (chunk: Buffer, _, done) => void write(chunk).then(() => done(), done),
    final: (done) => void file.sync().then(() => done(), done),
    destroy: (error, done) => void file.close().then(() => done(error), done),
  });
}

/** Bytes are written as `{"base64": "..."}`. */
const toLine = (row: readonly Value[]): string =>
  `${JSON.stringify(
    row.map((value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value)),
  )}\n`;

async function writeSecrets(dir: string, path: string): Promise<NonNullable<Manifest['secrets']>> {
  const content = readFileSync(path);
  writeFileSync(join(dir, SECRETS_FILE), content, { mode: 0o600, flag: 'wx', flush: true });
  return { file: SECRETS_FILE, sha256: sha256(content) };
}

async function writeDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.part`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  renameSync(temporary, path);
}
