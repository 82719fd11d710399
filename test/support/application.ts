import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './cli.ts';

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/**
 * Makes the folder an application that depends on the packed package, with its dependencies in place in the versions of
 * this repository, as if they had been installed earlier. `npm install` then unpacks the package once, and fetches only
 * what is missing or does not satisfy the ranges of the package.
 */
export function prepareApplication(folder: string, tarball: string, integrity: string): void {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const locked: Record<string, Locked> = read('package-lock.json').packages;
  const packages = Object.fromEntries(
    Object.entries(locked).filter(
      ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional && existsSync(join(root, path)),
    ),
  );
  for (const path of Object.keys(packages)) linkFiles(join(root, path), join(folder, path));
  const { version, license, bin, engines, dependencies } = read('package.json');
  const resolved = `file:../${basename(tarball)}`;
  const application = { name: 'home', private: true, type: 'module', dependencies: { legate: resolved } };
  const legate = { version, resolved, integrity, license, bin, engines, dependencies };
  const lock = (entries: object): string => JSON.stringify({ lockfileVersion: 3, packages: entries });
  writeFileSync(join(folder, 'package.json'), JSON.stringify(application));
  writeFileSync(
    join(folder, 'package-lock.json'),
    lock({ '': application, ...packages, 'node_modules/legate': legate }),
  );
  // npm believes this file only if it is newer than the folders.
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), lock(packages));
}

/** Nested packages are entries of the lock file themselves. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') linkFiles(source, target);
    } else if (entry.isFile()) link(source, target);
  }
}

/** A link takes a tenth of the time of a copy. npm replaces files, and never writes to them. */
function link(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    copyFileSync(source, target);
  }
}
