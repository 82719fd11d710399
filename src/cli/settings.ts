import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Config, type ConfigInput, readConfig } from '../config.ts';
import { ConfigError, type Source } from '../kernel/config.ts';
import { createFolder, DATABASE_FILE, FolderError, openDataFolder } from '../kernel/data-folder.ts';
import { createLegate, type Legate, type LegateOptions } from '../service.ts';
import { type Database, DatabaseError, isUnavailable, openDatabase, serveAlone } from '../storage/index.ts';
import { EXIT_CONFIG, UsageError } from './command.ts';

export interface Settings {
  readonly values: Config;
  /** Where each value comes from, by path. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly production: boolean;
  /** For createLegate. */
  readonly options: LegateOptions;
}

const FILE = 'legate.config.json';

/**
 * Reads the configuration of this process from its environment and from legate.config.json in the working directory.
 * Throws ConfigError.
 */
export function readSettings(production = process.env['NODE_ENV'] === 'production'): Settings {
  const { env } = process;
  const file = readFile();
  const { values, sources } = readConfig({ env, file, production, readFile: (path) => readFileSync(path, 'utf8') });
  return { values, sources, production, options: { env, file, production } };
}

function readFile(): unknown {
  let text: string;
  try {
    text = readFileSync(join(process.cwd(), FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError([`${FILE}: cannot be read`]);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigError([`${FILE}: is not valid JSON`]);
  }
}

/** Calls createLegate. Throws a UsageError if the database cannot be used. */
export const open = (config: ConfigInput, options: LegateOptions): Promise<Legate> =>
  usable(createLegate(config, options));

/** Opens the database of this configuration. Throws a UsageError if it cannot be used. */
export const openDatabaseOf = (settings: Settings): Promise<Database> =>
  usable(openDatabase(databaseUrlOf(settings), { serviceName: settings.values.service.name }));

async function usable<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof DatabaseError) throw new UsageError(error.message);
    const isUserError =
      error instanceof FolderError || isUnavailable(error) || (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!isUserError) throw error;
    const cause = ((error as Error).message || (error as NodeJS.ErrnoException).code || '').replace(/\.$/, '');
    throw new UsageError(`The database cannot be used: ${cause}. Check LEGATE_DATABASE_URL and LEGATE_DATA_DIR.`);
  }
}

/**
 * Creates the data folder, with its secrets unless they are in the database. Turns a folder that cannot be used into a
 * UsageError.
 */
export function useDataFolder({ dataDir: dir, secret }: Config): void {
  try {
    if (secret === undefined) openDataFolder(dir);
    else createFolder(dir, { parents: true });
  } catch (error) {
    throw new UsageError(`LEGATE_DATA_DIR (${dir}) cannot be used: ${(error as Error).message}`);
  }
}

/** The database of this configuration: by default the SQLite file in the data folder. */
export const databaseUrlOf = ({ values: { databaseUrl, dataDir } }: Settings): string =>
  databaseUrl ?? `sqlite:${join(dataDir, DATABASE_FILE)}`;

/**
 * Throws a UsageError if another process serves the SQLite file, because neither would see the other's changes in
 * memory.
 */
export function useDatabaseAlone(settings: Settings): void {
  const url = databaseUrlOf(settings);
  if (serveAlone(url)) return;
  throw new UsageError(
    `Another process serves ${resolve(url.slice('sqlite:'.length))}. Stop it first, or set LEGATE_DATA_DIR to ` +
      'another folder. Several instances need PostgreSQL (LEGATE_DATABASE_URL).',
    EXIT_CONFIG,
  );
}

/** Returns the path of the SQLite file if it does not exist yet. */
export function missingDatabase({ values: { databaseUrl, dataDir } }: Settings): string | undefined {
  if (databaseUrl?.startsWith('postgres')) return undefined;
  const path = resolve(databaseUrl === undefined ? join(dataDir, DATABASE_FILE) : databaseUrl.slice('sqlite:'.length));
  return existsSync(path) ? undefined : path;
}

/**
 * Throws a UsageError if this configuration has no data yet. Commands that only read would otherwise create an empty
 * database if they run in the wrong folder.
 */
export function useExistingData(settings: Settings): void {
  const path = missingDatabase(settings);
  if (path === undefined) return;
  const { databaseUrl } = settings.values;
  throw new UsageError(
    `There is no database at ${path}. Run this in the folder where the service was started, or set ` +
      `${databaseUrl === undefined ? 'LEGATE_DATA_DIR' : 'LEGATE_DATABASE_URL'}. npx legate serve creates one.`,
  );
}

const ADDRESS_FILE = 'address';

/** Stores the address of the service, so that `legate tour` in the same folder finds it on any port. */
export function rememberAddress(dataDir: string, address: string): void {
  writeFileSync(join(dataDir, ADDRESS_FILE), `${address}\n`, { mode: 0o600 });
}

/** Returns the address that the last start in this data folder stored. */
export function lastAddress(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, ADDRESS_FILE), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Runs `work` on a service with this configuration. Works while another process serves the same database. */
export async function withLegate<T>(settings: Settings, work: (legate: Legate) => Promise<T>): Promise<T> {
  const legate = await open({}, { ...settings.options, serves: false });
  try {
    return await work(legate);
  } finally {
    await legate.close();
  }
}
