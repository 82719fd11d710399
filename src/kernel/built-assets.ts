import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** An entry of the manifest that the bundler writes. */
interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly isEntry?: boolean;
}

interface BuiltAssets {
  /** By the path of the source. */
  readonly manifest: Readonly<Record<string, Chunk>>;
  /** Contents of the files in `assets/`, by name. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

let read: BuiltAssets | undefined;

/**
 * Returns the built console, whose fonts other pages use too; undefined if it has not been built. Its files, less than
 * 1 MB, are read once and together: pages name files of this build, which an upgrade replaces while the service runs.
 */
export function findBuiltAssets(): BuiltAssets | undefined {
  if (read) return read;
  const folder = ['../console-assets', '../../dist/console-assets']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'manifest.json')));
  if (folder === undefined) return undefined;
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as BuiltAssets['manifest'];
  const names = readdirSync(join(folder, 'assets'));
  const files = new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(folder, 'assets', name)))]));
  read = { manifest, files };
  return read;
}
