import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** An entry of the manifest that the bundler writes. */
interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly isEntry?: boolean;
}

interface BuiltAssets {
  readonly folder: string;
  /** By the path of the source. */
  readonly manifest: Readonly<Record<string, Chunk>>;
}

/** Returns the folder of the built console, whose fonts other pages use too; undefined if it has not been built. */
export function findBuiltAssets(): BuiltAssets | undefined {
  const folder = ['../console-assets', '../../dist/console-assets']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(join(path, 'manifest.json')));
  if (folder === undefined) return undefined;
  return {
    folder,
    manifest: JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as BuiltAssets['manifest'],
  };
}
