import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { endSealedLog, placeKeptDecisions, readRuns } from '../../ledger/index.ts';
import { asNamedToday, type Database, migrate, migrateAsFarAs, schemaState } from '../../storage/index.ts';
import { BackupError } from './backup-error.ts';
import { type Manifest, readManifest, sha256 } from './manifest.ts';
import { openRestore, type Restore } from './restore-target.ts';
import type { Value } from './snapshot.ts';
import { columnsOf, SAVED_TABLES } from './tables.ts';

/** Rows written with one call. */
const BATCH = 500;
/** Why nothing is signed if the process ends between the commit and the end of the log. */
const UNFINISHED = 'A restore was interrupted. Run npx legate ledger recover.';

export interface RestoredBackup {
  readonly manifest: Manifest;
  /** Content of the key file, if the backup has it. */
  readonly secrets: Buffer | undefined;
}

/**
 * Checks the whole backup and then fills an empty database with it, in one transaction. Brings the schema up to date
 * afterwards, and ends the sealed log: what was sealed after the backup is not in the tree of the backup.
 *
 * @param options.beforeCommit Called once the backup is checked and written, with its keys.
 * @throws BackupError if the backup is damaged or incomplete, or the database is not empty. Nothing is written then.
 */
export async function restoreBackup(
  database: Database,
  dir: string,
  {
    onTable,
    beforeCommit,
  }: { onTable?: (name: string, rows: number) => void; beforeCommit?: (backup: RestoredBackup) => void } = {},
): Promise<RestoredBackup> {
  const backup = await checkBackup(dir);
  const { manifest } = backup;
  await prepareSchema(database, manifest);
  const columns = await columnsOf(database);
  for (const { name, columns: saved } of manifest.tables)
    if (saved.some((column) => !columns.get(name)?.includes(column)))
      throw new BackupError(`The backup has columns of ${name} that do not exist in this version of Legate.`);
  const restore = await openRestore(database);
  try {
    // An instance, or another restore, may have written to the database since its schema was read.
    for (const name of PROOF_OF_DATA) if (await restore.hasRows(name)) throw notEmpty(database);
    for (const table of manifest.tables) {
      await restore.empty(table.name);
      await fill(restore, dir, table);
      onTable?.(table.name, table.rows);
    }
    await assertLedgerWhole(restore, manifest);
    if (manifest.tables.some(({ name }) => name === 'seal')) await restore.haltLog(UNFINISHED);
    beforeCommit?.(backup);
    await restore.commit();
  } catch (error) {
    await restore.rollback();
    throw error;
  }
  await migrate(database);
  await placeKeptDecisions(database);
  await database.write.transaction().execute((db) => endSealedLog(db, Date.now()));
  return backup;
}

/** Reads every file of a backup and compares it with the manifest. */
async function checkBackup(dir: string): Promise<RestoredBackup> {
  const manifest = readManifest(dir);
  const missing = SAVED_TABLES.filter((name) => name === 'stream_events' || name === 'head').filter(
    (name) => !manifest.tables.some((table) => table.name === name),
  );
  if (missing.length > 0) throw new BackupError(`The backup has no table ${missing[0]}. Use another backup.`);
  for (const { file, sha256: expected } of manifest.tables) {
    const hash = createHash('sha256');
    const path = join(dir, file);
    await pipeline(createReadStream(path), hash).catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(`${path} cannot be read (${error.code}). Use another backup.`);
    });
    if (hash.digest('hex') !== expected) throw new BackupError(`${path} is damaged. Use another backup.`);
  }
  if (manifest.secrets === null) return { manifest, secrets: undefined };
  const path = join(dir, manifest.secrets.file);
  let secrets: Buffer | undefined;
  try {
    secrets = readFileSync(path);
  } catch {}
  if (!secrets || sha256(secrets) !== manifest.secrets.sha256)
    throw new BackupError(`${path} is missing or damaged. Use another backup.`);
  return { manifest, secrets };
}

/** Tables of which one has a row if the database was used. */
const PROOF_OF_DATA = ['users', 'agents', 'stream_events'] as const;

const notEmpty = ({ description }: Database): BackupError =>
  new BackupError(`${description} already has data. Restore into an empty database.`);

/** Creates the schema of the backup. An existing one must be the same, and without data. */
async function prepareSchema(database: Database, manifest: Manifest): Promise<void> {
  const state = await schemaState(database);
  if (state.migrations.length === 0) {
    if (!(await migrateAsFarAs(database, manifest.migrations)))
      throw new BackupError(
        `The backup was made by Legate ${manifest.version}, whose schema is unknown to this version. ` +
          'Restore it with that version or a later one.',
      );
    return;
  }
  for (const name of PROOF_OF_DATA)
    if (await database.read.selectFrom(name).selectAll().limit(1).executeTakeFirst()) throw notEmpty(database);
  if (state.migrations.join() !== [...asNamedToday(manifest.migrations)].sort().join())
    throw new BackupError(
      `${database.description} has a different schema version than the backup. Restore into an empty database.`,
    );
}

async function fill(restore: Restore, dir: string, table: Manifest['tables'][number]): Promise<void> {
  const { name, columns } = table;
  const text = createReadStream(join(dir, table.file)).pipe(createGunzip()).setEncoding('utf8');
  let batch: Value[][] = [];
  let rows = 0;
  for await (const line of linesOf(text)) {
    rows++;
    const row = fromLine(line, columns.length);
    batch.push(row);
    if (batch.length < BATCH) continue;
    await restore.insert(name, columns, batch);
    batch = [];
  }
  if (batch.length > 0) await restore.insert(name, columns, batch);
  if (rows !== table.rows) throw new BackupError(`${table.file} has ${rows} rows instead of ${table.rows}.`);
}

/** Yields the lines, which end with `\n`. `node:readline` would also split at U+2028, which JSON texts may contain. */
async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function fromLine(line: string, length: number): Value[] {
  const row = JSON.parse(line) as (string | number | null | { base64: string })[];
  if (!Array.isArray(row) || row.length !== length)
    throw new BackupError('The backup has a row with a wrong number of columns.');
  return row.map((value) =>
    value !== null && typeof value === 'object' ? Buffer.from(value.base64, 'base64') : value,
  );
}

/** The ledger has no gaps except where rows were deleted by retention, or erased as the ledger itself records. */
async function assertLedgerWhole(restore: Restore, { ledger }: Manifest): Promise<void> {
  const after = ledger.keptWholeAfter;
  const { seq, rows, last } = await restore.ledger(after);
  const erased = await countErased(restore, after);
  if (seq !== ledger.seq || (rows > 0 && last !== seq) || rows + erased !== Math.max(0, seq - after))
    throw new BackupError(
      `The ledger of the backup is incomplete: its end is ${seq}, and ${rows} entries follow ${after}.`,
    );
}

/** Counts the missing entries after a sequence number that a recorded erasure names. */
async function countErased(restore: Restore, after: number): Promise<number> {
  const runs = (await restore.erasures())
    .flatMap((data) => readRuns((JSON.parse(data) as { seqs: string }).seqs))
    .sort(([a], [b]) => a - b);
  let [erased, counted] = [0, after];
  for (const [first, last] of runs) {
    const from = Math.max(first, counted + 1);
    if (from > last) continue;
    erased += last - from + 1 - (await restore.entries(from, last));
    counted = last;
  }
  return erased;
}
