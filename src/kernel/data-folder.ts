import { randomBytes } from 'node:crypto';
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const Key = z.strictObject({
  id: z.string().min(1),
  /** 32 random bytes, base64url. */
  key: z
    .string()
    .refine((key) => Buffer.from(key, 'base64url').length >= 32, { message: 'must be at least 32 bytes, base64url' }),
  createdAt: z.iso.datetime(),
});
/** Newest first: the first one signs, all of them verify. */
const Keys = z.array(Key).min(1);
const Secrets = z.strictObject({ signing: Keys, cookie: Keys, pepper: Keys });

/** The keys of one installation, by what they are for. */
export type Secrets = z.output<typeof Secrets>;

const SECRETS_FILE = 'secrets.json';

/**
 * Makes the data folder (mode 0700, ignored by git) and its `secrets.json` (0600) where they do not exist, and gives the secrets.
 * Of several starts at once all get the same secrets. Throws an error that names the file and never shows its content.
 */
export function openDataFolder(dir: string): Secrets {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const ignore = join(dir, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600 });
  const path = join(dir, SECRETS_FILE);
  if (!existsSync(path)) createSecrets(path);
  return readSecrets(path);
}

/** What of a data folder is open to other users of the machine; nothing of it need exist. */
export function openToOthers(dir: string): string[] {
  return [dir, join(dir, SECRETS_FILE)].filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0);
}

/** Written beside and then linked, which fails where the name exists: nobody ever reads half a file, and the first one wins. */
function createSecrets(path: string): void {
  const beside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const createdAt = new Date().toISOString();
  const key = (): Secrets['signing'] => [
    { id: randomBytes(6).toString('base64url'), key: randomBytes(32).toString('base64url'), createdAt },
  ];
  writeFileSync(
    beside,
    `${JSON.stringify({ signing: key(), cookie: key(), pepper: key() } satisfies Secrets, null, 2)}\n`,
    { flag: 'wx', mode: 0o600 },
  );
  try {
    linkSync(beside, path);
  } catch (error) {
    // Without hard links on this file system the plain exclusive create has to do.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') copyFileSync(beside, path, constants.COPYFILE_EXCL);
  } finally {
    rmSync(beside);
  }
}

function readSecrets(path: string): Secrets {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new Error(`${path} cannot be read, or is not JSON.`);
  }
  const parsed = Secrets.safeParse(content);
  if (!parsed.success)
    throw new Error(
      `${path} is not valid: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}.`,
    );
  return parsed.data;
}
