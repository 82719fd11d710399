import { createHash } from 'node:crypto';
import { createWriteStream, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createFolder } from '../../kernel/data-folder.ts';
import { packageVersion } from '../../kernel/version.ts';
import { type Database, schemaState } from '../../storage/index.ts';
import { BackupError } from './backup-error.ts';
import { MANIFEST_FILE, type Manifest, SECRETS_FILE, serializeManifest, sha256, tableFile } from './manifest.ts';
import { openSnapshot, type Snapshot, type Value } from './snapshot.ts';
import { columnsOf, ledgerEnd, SAVED_TABLES } from './tables.ts';

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
  if (readdirSync(dir).length > 0) throw new BackupError(`${dir} is not empty. Name an empty folder, or a new one.`);
  const { pending, refusal, migrations } = await schemaState(database);
  if (pending.length > 0 || refusal !== undefined)
    throw new BackupError(
      `${database.description} is of another version of Legate. Back it up with that version, or run npx legate migrate.`,
    );
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
  async function* lines(): AsyncGenerator<string> {
    for await (const chunk of snapshot.rows(name, columns)) {
      rows += chunk.length;
      yield chunk.map(toLine).join('');
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
  const out = createWriteStream(join(dir, file), { mode: 0o600, flags: 'wx', flush: true });
  await pipeline(Readable.from(lines()), createGzip({ level: 1 }), hashing, out);
  return { name, columns: [...columns], rows, file, sha256: hash.digest('hex') };
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
