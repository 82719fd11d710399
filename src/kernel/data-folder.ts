import { randomBytes } from 'node:crypto';
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { MINUTE_MS } from './clock.ts';

const Key = z.strictObject({
  id: z.string().min(1),
  /** 32 random bytes, base64url. */
  key: z
    .string()
    .refine((key) => Buffer.from(key, 'base64url').length >= 32, { message: 'must be at least 32 bytes, base64url' }),
  createdAt: z.iso.datetime(),
});
/** Newest first. The first key signs; all of them verify. */
const Keys = z.array(Key).min(1);
/** `ledger`: the seeds that checkpoints of the sealed ledger are signed with. Empty until sealing begins. */
const Secrets = z.strictObject({ signing: Keys, cookie: Keys, pepper: Keys, ledger: z.array(Key).default([]) });

/** The keys of one installation, by purpose. */
export type Secrets = z.output<typeof Secrets>;
/** Kinds that `legate keys rotate` rotates. */
export type SecretKeyKind = Exclude<keyof Secrets, 'ledger'>;
export const SECRET_KEY_KINDS: readonly SecretKeyKind[] = ['signing', 'cookie', 'pepper'];

const SECRETS_FILE = 'secrets.json';
/** The names that {@link temporaryName} gives to it. */
const TEMPORARY_SECRETS = /^secrets\.json\.\d+\.[0-9a-f]{8}$/;
/** The SQLite file, unless `databaseUrl` names another. */
export const DATABASE_FILE = 'legate.db';

/**
 * Creates the data folder (mode 0700, ignored by git) and its `secrets.json` (0600) unless they exist, and returns the
 * secrets. Concurrent starts all get the same secrets. Throws an error that names the file and never contains its
 * content.
 */
export function openDataFolder(dir: string): Secrets {
  createFolder(dir, { parents: true });
  const ignore = join(dir, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600 });
  const path = join(dir, SECRETS_FILE);
  removeUnfinishedSecrets(dir);
  if (!existsSync(path)) createSecrets(path);
  return readSecrets(path);
}

/**
 * Removes the copies of the keys that a process which was killed while it wrote them has left. Newer ones remain,
 * because another process may be writing them.
 */
function removeUnfinishedSecrets(dir: string): void {
  const before = Date.now() - MINUTE_MS;
  for (const name of readdirSync(dir)) {
    if (!TEMPORARY_SECRETS.test(name)) continue;
    const path = join(dir, name);
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) rmSync(path, { force: true });
  }
}

/** Path of the key file of a data folder. */
export const secretsPath = (dir: string): string => join(dir, SECRETS_FILE);

/** Whether the data folder has a `secrets.json`. */
export const hasSecretsFile = (dir: string): boolean => existsSync(secretsPath(dir));

/** Returns the secrets of an existing data folder and creates nothing. Throws like {@link openDataFolder}. */
export const readDataFolder = (dir: string): Secrets => readSecrets(join(dir, SECRETS_FILE));

/**
 * Adds a new key of each kind in front of the existing ones, which stay valid for what they have signed or encrypted.
 * The file is replaced atomically, so a service that starts at the same time reads either the old keys or the new ones.
 */
export function rotateKeys(dir: string, kinds: readonly SecretKeyKind[]): { kind: SecretKeyKind; id: string }[] {
  const secrets = readDataFolder(dir);
  const added = kinds.map((kind) => ({ kind, key: newKey() }));
  for (const { kind, key } of added) secrets[kind].unshift(key);
  replaceSecrets(dir, secrets);
  return added.map(({ kind, key: { id } }) => ({ kind, id }));
}

/** Adds a first key of the sealed ledger to `secrets.json`, unless there is one. The caller serialises calls. */
export function addLedgerKey(dir: string, key: Secrets['signing'][number]): void {
  const secrets = readDataFolder(dir);
  if (secrets.ledger.length === 0) replaceSecrets(dir, { ...secrets, ledger: [key] });
}

/** Replaces the keys of the sealed ledger in `secrets.json`, newest first. The caller serialises calls. */
export const replaceLedgerKeys = (dir: string, ledger: Secrets['ledger']): void =>
  replaceSecrets(dir, { ...readDataFolder(dir), ledger });

function replaceSecrets(dir: string, secrets: Secrets): void {
  const path = join(dir, SECRETS_FILE);
  removeUnfinishedSecrets(dir);
  const temporary = temporaryName(path);
  try {
    writeFileSync(temporary, serialize(secrets), { flag: 'wx', mode: 0o600, flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** A folder, or its secrets.json, that cannot be used. The message is a complete sentence for the operator. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

/** File systems of the kernel, in which no folder can be created. */
const PSEUDO_FILE_SYSTEMS = ['/proc', '/sys', '/dev'];

/**
 * Creates a folder (mode 0700). Throws if the parent is missing or the root of the file system, unless `parents` is
 * set, so that a mistyped path creates nothing. Does not use Node's recursive mkdir, which never returns for some
 * paths below /proc.
 */
export function createFolder(dir: string, { parents = false } = {}): void {
  const path = resolve(dir);
  const existing = statSync(path, { throwIfNoEntry: false });
  if (existing?.isDirectory()) return;
  if (existing) throw new FolderError(`${path} is a file. Name a folder.`);
  if (PSEUDO_FILE_SYSTEMS.some((root) => path === root || path.startsWith(`${root}/`)))
    throw new FolderError(`${path} is on a file system of the kernel, where no folder can be created.`);
  const parent = dirname(path);
  if (parents) createFolder(parent, { parents });
  else if (dirname(parent) === parent)
    throw new FolderError(`${path} does not exist. Create it first, or name another folder.`);
  else if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory())
    throw new FolderError(`${parent} does not exist. Create it first, or name another folder.`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process that starts at the same time may have been first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Returns the files and folders of a data folder that other users of the machine can open. Missing ones are skipped.
 */
export function openToOthers(dir: string): string[] {
  return [dir, ...[SECRETS_FILE, DATABASE_FILE].map((name) => join(dir, name))].filter(
    (path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0,
  );
}

/** Returns a random key that is created at `now`. */
export const newKey = (now = Date.now()): Secrets['signing'][number] => ({
  id: randomBytes(6).toString('base64url'),
  key: randomBytes(32).toString('base64url'),
  createdAt: new Date(now).toISOString(),
});
const serialize = (secrets: Secrets): string => `${JSON.stringify(secrets, null, 2)}\n`;
/** A name in the same folder that no other process uses. */
const temporaryName = (path: string): string => `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;

function createSecrets(path: string): void {
  const secrets: Secrets = { signing: [newKey()], cookie: [newKey()], pepper: [newKey()], ledger: [newKey()] };
  try {
    createPrivateFile(path, serialize(secrets));
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Creates a file that only its owner can read. Writes a temporary file and hard-links it, so that no process reads a
 * partial file, and a full disk leaves none. Throws EEXIST if the file exists.
 */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  const temporary = temporaryName(path);
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    try {
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
      // On a file system without hard links, use an exclusive copy.
      copyFileSync(temporary, path, constants.COPYFILE_EXCL);
    }
  } finally {
    rmSync(temporary, { force: true });
  }
}

function readSecrets(path: string): Secrets {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FolderError(`${path} does not exist. The service creates it when it starts for the first time.`);
    throw new FolderError(`${path} cannot be read, or does not contain JSON.`);
  }
  const parsed = Secrets.safeParse(content);
  if (!parsed.success)
    throw new FolderError(
      `${path} is not valid: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}.`,
    );
  return parsed.data;
}
