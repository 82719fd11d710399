import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type ConfigInput, readConfig } from '../config.ts';
import { ConfigError, type Source } from '../kernel/config.ts';
import { openDataFolder } from '../kernel/data-folder.ts';
import { createLegate, type Legate, type LegateOptions } from '../service.ts';
import { isUnavailable } from '../storage/index.ts';
import { UsageError } from './command.ts';

export interface Settings {
  readonly values: Config;
  /** Where each value is from, by path. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly production: boolean;
  /** To be handed to createLegate. */
  readonly options: LegateOptions;
}

const FILE = 'legate.config.json';

/** The configuration of this process: its environment and legate.config.json in the working directory. Throws ConfigError. */
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

/** createLegate, for which a database that cannot be used is something a person can mend. */
export async function open(config: ConfigInput, options: LegateOptions): Promise<Legate> {
  try {
    return await createLegate(config, options);
  } catch (error) {
    if (!isUnavailable(error) && (error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UsageError(
      `The database cannot be used: ${(error as Error).message || (error as NodeJS.ErrnoException).code}. LEGATE_DATABASE_URL and LEGATE_DATA_DIR say where it is.`,
    );
  }
}

/** openDataFolder, for which a folder that cannot be used is something a person can mend. */
export function useDataFolder(dir: string): void {
  try {
    openDataFolder(dir);
  } catch (error) {
    throw new UsageError(
      `The data folder cannot be used: ${(error as Error).message} LEGATE_DATA_DIR says where it is.`,
    );
  }
}

/** Runs `work` on the service of this configuration, beside one that may be running on the same database. */
export async function withLegate<T>(settings: Settings, work: (legate: Legate) => Promise<T>): Promise<T> {
  const legate = await open({}, settings.options);
  try {
    return await work(legate);
  } finally {
    await legate.close();
  }
}
